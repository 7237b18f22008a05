package ptest

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Terminal is a pseudo-terminal, used as by a user that types and reads. It does not echo, so all
// that is read was written by its processes.
type Terminal struct {
	t     testing.TB
	keys  *os.File // the side that types
	slave *os.File // the side of the processes, closed when one has been started
}

// Type presses keys. "\x03" is ^C, "\x1a" is ^Z, "\x04" at the beginning of a line is ^D.
func (m *Terminal) Type(keys string) {
	m.t.Helper()
	if _, err := m.keys.WriteString(keys); err != nil {
		m.t.Fatalf("ptest: terminal: %v", err)
	}
}

// killSession kills every process of the session of a leader: a shell puts each job into a group of
// its own. The leader must not have been reaped.
func killSession(leader int) {
	for _, pid := range numbers("/proc") {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(fields) > 3 && fields[3] == strconv.Itoa(leader) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
