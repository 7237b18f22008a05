package pctl

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// opens counts, by name, how often files of a directory in /proc are opened.
type opens struct {
	t  *testing.T
	fd int
}

func watchOpens(t *testing.T, dir string) *opens {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	// Two equal events in a row are one: the closing comes in between.
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_OPEN|syscall.IN_CLOSE_NOWRITE); err != nil {
		t.Fatal(err)
	}
	return &opens{t, fd}
}

// take returns the counts since the last call.
func (o *opens) take() map[string]int {
	o.t.Helper()
	counts := map[string]int{}
	buf := make([]byte, 1<<16)
	for {
		n, err := syscall.Read(o.fd, buf)
		if err == syscall.EAGAIN {
			return counts
		}
		if err != nil {
			o.t.Fatal(err)
		}
		for b := buf[:n]; len(b) > 0; {
			size := binary.NativeEndian.Uint32(b[12:])
			name, rest := b[syscall.SizeofInotifyEvent:][:size], b[syscall.SizeofInotifyEvent+size:]
			if binary.NativeEndian.Uint32(b[4:])&syscall.IN_OPEN != 0 {
				counts[strings.TrimRight(string(name), "\x00")]++
			}
			b = rest
		}
	}
}

// TestGrabReadsOnce: a grab reads each file of the target once, and passes on what it has read. These are read
// again:
//
//   - stat by control, which tells its process by the start time, and by the map, whose holder may outlive that. The first
//     one is the handle's;
//   - task until two passes over it have found no new thread.
//
// Files that only explain a refusal (uid_map, the status of threads, the ancestors' stat) are read when there
// is a refusal.
func TestGrabReadsOnce(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "idle.c"))
	g.Ready()
	s := session(t, nil)
	grab(t, s, g.PID, nil).Close() // what is read once for all targets has been read
	o := watchOpens(t, fmt.Sprintf("/proc/%d", g.PID))
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", g.PID)); err != nil {
		t.Fatal(err)
	}
	if n := o.take()["comm"]; n != 1 {
		t.Fatalf("an open was reported %d times", n)
	}
	// Opens by others are reported, too: a tracer elsewhere looks at statm of all processes for those that share its target's
	// memory. They only add to ours.
	opens := func() map[string]int {
		defer o.take() // of the release
		p := grab(t, s, g.PID, nil)
		defer p.Close()
		return o.take()
	}
	got := leastOf(leastOf(opens(), opens()), opens())
	delete(got, "task") // a directory is reported under its own name and the parent's
	want := map[string]int{"stat": 3, "status": 1, "pagemap": 1, "mem": 1, "maps": 1, "auxv": 1}
	if _, err := procfs.SharesMemory(g.PID, os.Getpid()); err != nil {
		want["stat"]++ // distinguishes an exec from a possible vfork child
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("opens of a grab (-want +got):\n%s", d)
	}
}

// leastOf returns the names that are in both, each with the smaller number.
func leastOf(a, b map[string]int) map[string]int {
	least := map[string]int{}
	for name, n := range a {
		if m := min(n, b[name]); m > 0 {
			least[name] = m
		}
	}
	return least
}
