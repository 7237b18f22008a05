package control

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
	"ptools/pctl/notify"
)

// TestLingering: another descriptor of a probe is open when the probe is closed, as in a process that this program
// has forked and that has not executed a program yet. A breakpoint is still hit in a library that is loaded again
// meanwhile.
func TestLingering(t *testing.T) {
	uprobe.Need(t)
	loads := ptest.Rounds(20, 60, 60)
	plugin := ptest.Copy(t, ptest.BuildC(t, "plugin.c", "-shared", "-fPIC"))
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Linker: true, Trap: TrapUprobe},
		ptest.BuildC(t, "dlchurn.c"), "-t", "1", "-n", strconv.Itoa(loads), "-p", plugin)
	b, err := c.BreakSymbol(bg, filepath.Base(plugin), "plugin_call", 0, func(h *Hit) {
		for _, fd := range links(t) {
			time.AfterFunc(50*time.Millisecond, func() { syscall.Close(fd) })
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	if said := <-out; !strings.Contains(said, "done "+strconv.Itoa(loads)) {
		t.Errorf("it prints %q", said)
	}
	if b.Hits() != uint64(loads) {
		t.Errorf("%d hits of %d calls", b.Hits(), loads)
	}
}

// links returns another descriptor of each probe that this program has.
func links(t *testing.T) (fds []int) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Error(err)
	}
	for _, e := range list {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && isProbe(to) {
			n, _ := strconv.Atoi(e.Name())
			if fd, err := syscall.Dup(n); err == nil {
				syscall.CloseOnExec(fd)
				fds = append(fds, fd)
			}
		}
	}
	if len(fds) == 0 {
		t.Error("no probe has a descriptor")
	}
	return fds
}

// isProbe reports whether the text of a descriptor's link is that of a probe: a BPF link or a perf event.
func isProbe(to string) bool {
	return strings.Contains(to, "bpf") && strings.Contains(to, "link") || strings.Contains(to, "perf_event")
}
