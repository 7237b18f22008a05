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
	"ptools/pctl/notify"
)

// freezer is a cgroup whose processes can be frozen.
type freezer struct {
	t   *testing.T
	g   *ptest.Target
	dir string
}

// newFreezer puts a target into a cgroup of its own.
func newFreezer(t *testing.T, g *ptest.Target) *freezer {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		m := strings.Fields(line)
		if m[2] != "cgroup2" || !strings.HasPrefix(m[3], "rw") {
			continue
		}
		f := &freezer{t: t, g: g}
		if f.dir, err = os.MkdirTemp(m[1], "ptools-test-"); err != nil {
			t.Skipf("no cgroup may be made: %v", err)
		}
		t.Cleanup(f.remove)
		f.write("cgroup.procs", strconv.Itoa(g.PID))
		return f
	}
	t.Skip("no cgroup of version 2 is mounted to be written to")
	return nil
}

func (f *freezer) write(name, text string) {
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0); err != nil {
		f.t.Error(err)
	}
}

// await waits until the kernel reports an event of the cgroup.
func (f *freezer) await(event string) {
	f.g.WaitFor(event, func() bool {
		events, err := os.ReadFile(filepath.Join(f.dir, "cgroup.events"))
		return err != nil || strings.Contains(string(events), event)
	})
}

func (f *freezer) freeze() {
	f.write("cgroup.freeze", "1")
	f.await("frozen 1")
}

func (f *freezer) thaw() { f.write("cgroup.freeze", "0") }

func (f *freezer) remove() {
	f.thaw()
	f.g.Kill() // where the test has failed; before Linux 5.14 there is no cgroup.kill
	f.await("populated 0")
	if err := os.Remove(f.dir); err != nil {
		f.t.Error(err)
	}
}

// TestReleaseStoppedFrozen: a process that its cgroup has frozen is left stopped without waiting until it is thawed.
// Before that it reaches neither the SIGSTOP nor anything else.
func TestReleaseStoppedFrozen(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "idle.c"), "-t", "3")
	g.Ready()
	f := newFreezer(t, g)
	c := attach(t, g.PID, nil)
	s := c.Bus().Subscribe(notify.Released)
	defer s.Close()
	f.freeze()
	late := time.AfterFunc(20*time.Second, func() {
		t.Error("it waits until the process is thawed")
		f.thaw()
	})
	release(t, c, ModeStop)
	late.Stop()
	if e, n := next(t, s), len(g.Threads()); e.Kind != notify.Released || e.Mode != "stopped" || e.Threads != n {
		t.Errorf("told %+v of %d threads", e, n)
	}
	f.thaw()
	g.WaitState("T")
	g.Signal(syscall.SIGCONT)
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("%v: %s", state, out)
	}
}
