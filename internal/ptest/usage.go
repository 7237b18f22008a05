package ptest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Usage is what a command has used, and what became of it.
type Usage struct {
	Memory int64         // bytes that were resident at most
	CPU    time.Duration // user and kernel
	Time   time.Duration
	Status string // "exit status 0", or how else it ended
	Output string // standard output and standard error
}

const usageName = "ptest.usage"

// Measure runs a command and returns what it has used. The command is killed after the limit.
//
// A helper starts the command. In execve the kernel charges the peak of the old memory to the process (exec_mmap), and the
// old memory is that of the process which has started it, because os/exec shares the memory until then. So a direct child of
// a test binary that was ever large has used at least as much.
func Measure(t testing.TB, limit time.Duration, argv ...string) Usage {
	t.Helper()
	out, state := StartHelper(t, usageName, append([]string{limit.String()}, argv...)...).Finish()
	head, rest, _ := strings.Cut(out, "\n")
	var u Usage
	if n, err := fmt.Sscan(head, &u.Memory, (*int64)(&u.CPU), (*int64)(&u.Time)); n != 3 {
		t.Fatalf("ptest: %s: %v, %v: %.1000s", argv[0], err, state, out)
	}
	u.Status, u.Output, _ = strings.Cut(rest, "\n")
	return u
}

func measure() {
	limit, err := time.ParseDuration(os.Args[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	kill := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	cmd.Wait() // the state says how it ended
	kill.Stop()
	used := cmd.ProcessState
	fmt.Println(used.SysUsage().(*syscall.Rusage).Maxrss<<10, int64(used.UserTime()+used.SystemTime()), int64(time.Since(began)))
	fmt.Println(used)
	os.Stdout.Write(out.Bytes())
}

// Peak returns how many bytes of a running process were resident at most since its execve.
func Peak(t testing.TB, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		t.Fatalf("ptest: %d has no memory", pid)
	}
	kb, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
