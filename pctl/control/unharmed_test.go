package control

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"errors"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// TestReleaseWhileExecuting: a program that is executed while the process is released is not stopped
// any more, and no trap is planted in it.
func TestReleaseWhileExecuting(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "execstorm.c"), "-n", "0", "-t", "2")
	g.Ready()
	for range ptest.Rounds(30, 200, 4000) {
		c, err := Attach(bg, g.PID, &Options{Stop: []notify.Point{notify.Preinit, notify.Main}, Trap: TrapInt3})
		if err != nil {
			t.Fatal(err)
		}
		release(t, c, ModeRun)
	}
	g.Stdin.Close()
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("ended with %v: %s", state, out)
	}
}

// TestForkWithoutDescriptors: forked children have no traps, even if this program cannot open their
// memory.
func TestForkWithoutDescriptors(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth, Foreign: true}, ptest.BuildC(t, "forkstorm.c"), "-n", "0", "-t", "2")
	g.Ready()
	c := attach(t, g.PID, &Options{Trap: TrapInt3})
	b, err := c.BreakSymbol(bg, "", "in_child", 0, nil)
	if err != nil || len(b.Addrs()) == 0 {
		t.Fatalf("breakpoint at %#x: %v", b.Addrs(), err)
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err = os.Open("/dev/null")
	for from := truth.Kind(0); truth.Kind(0) < from+20 && truth.Errors() == 0 && alive(c); {
		runtime.Gosched()
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("opening a file: %v", err)
	}
	g.Stdin.Close()
	if out, state := g.Finish(); !state.Success() {
		t.Errorf("ended with %v: %s", state, out)
	}
}

const unreadableEnv = "PTOOLS_TEST_UNREADABLE"

// TestUnreadableProgram: a program that its user may execute and not read is controlled, though its
// memory is out of reach.
func TestUnreadableProgram(t *testing.T) {
	if path := os.Getenv(unreadableEnv); path != "" {
		unreadable(t, path)
		return
	}
	ptest.NeedUsers(t)
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	dir, path := t.TempDir(), ptest.Copy(t, sleep)
	modes := map[string]fs.FileMode{path: 0o111, dir: 0o777}
	for d := filepath.Dir(path); len(d) >= len(os.TempDir()); d = filepath.Dir(d) {
		modes[d] = 0o755
	}
	for path, mode := range modes {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUnreadableProgram$", "-test.v")
	cmd.Env = append(os.Environ(), unreadableEnv+"="+path, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func unreadable(t *testing.T, path string) {
	c, err := Start(bg, &Command{Path: path, Args: []string{"sleep", "1000"}},
		&Options{Stop: []notify.Point{notify.Create, notify.Main}, Mode: ModeKill, Linker: true})
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, c, ModeKill)
	if at, held := c.Held(); !held || at != notify.Create {
		t.Errorf("held %v at %v", held, at)
	}
	if b, err := c.BreakSymbol(bg, "", "main", 0, nil); err != nil || len(b.Addrs()) != 0 {
		t.Errorf("a breakpoint at %#x: %v", b.Addrs(), err)
	}
	if err := c.Pause(bg, func(s *Stopped) error {
		regs, err := s.Threads()[0].Regs()
		if err != nil {
			return err
		}
		if _, err := s.ReadAt(make([]byte, 1), int64(regs.PC())); !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("its memory was read: %w", err)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if n := len(c.Space().Objects()); n != 0 {
		t.Errorf("%d objects", n)
	}
	if err := c.Continue(bg); err != nil {
		t.Error(err)
	}
}

// TestBreakWithoutDescriptors: objects that cannot be opened are reported, because they may have the
// symbol. They are opened later.
func TestBreakWithoutDescriptors(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	g.Ready()
	c := attach(t, g.PID, &Options{Trap: TrapInt3})
	s := c.Bus().Subscribe(notify.BreakRefused)
	defer s.Close()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 3
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	b, err := c.BreakSymbol(bg, "libc.so.6", "malloc", 0, nil)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err != nil || !b.Found() || len(b.Addrs()) != 0 {
		t.Fatalf("without descriptors: %v, %v", b, err)
	}
	e := next(t, s)
	if !errors.Is(e.Err, syscall.EMFILE) || e.Addr != 0 || e.Symbol != "malloc" || e.Object != "libc.so.6" {
		t.Errorf("event %+v", e)
	}
	if b, err = c.BreakSymbol(bg, "libc.so.6", "malloc", 0, nil); err != nil || len(b.Addrs()) != 1 {
		t.Errorf("with descriptors: %v, %v", b, err)
	}
}
