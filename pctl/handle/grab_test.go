package handle

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/ptest"
)

// The target "execs" executes itself again for every line that it reads, in a
// thread that is not the leader. It prints the address of a function.
var _ = ptest.Helper("execs", func() {
	fmt.Printf("%#x\n", here())
	if strings.HasPrefix(readLine(), "exec") {
		os.Setenv("PTEST_HELPER", "execs")
		runtime.LockOSThread()
		done := make(chan error)
		go func() { done <- syscall.Exec("/proc/self/exe", os.Args, os.Environ()) }()
		fmt.Println(<-done)
	}
})

func readLine() string {
	var b [16]byte
	n, _ := os.Stdin.Read(b[:])
	return string(b[:n])
}

func newRegistry(t testing.TB) *Registry {
	t.Helper()
	files := elfsym.NewCache(32)
	r, err := NewRegistry(DefaultIdle, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); files.Close() })
	return r
}

// TestGrabAcrossExec grabs a process before and after execs. The handle is the
// same, and has the map of the new image.
func TestGrabAcrossExec(t *testing.T) {
	g := ptest.StartHelper(t, "execs")
	r := newRegistry(t)
	pc := address(t, g.Line())
	first := grab(t, r, g.PID)
	check := func(h *Handle, what string) {
		t.Helper()
		if f := h.Space().Symbolize(pc, Return, nil); !strings.HasSuffix(f[0].Func, "handle.here") {
			t.Errorf("%s: %+v", what, f)
		}
		m, err := h.Memory()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if m.Stale() {
			t.Errorf("%s: stale memory", what)
		}
	}
	check(first, "first image")
	for range 3 {
		fmt.Fprintln(g.Stdin, "exec")
		pc = address(t, g.Line())
		old := first.Space()
		again := grab(t, r, g.PID)
		if again != first || again.Space() == old {
			t.Errorf("after an exec: same handle %v, same map %v", again == first, again.Space() == old)
		}
		check(again, "cached grab after exec")
		release(t, again)
	}
	release(t, first)
}

// TestGrabDoesNotTouch: a grabbed process is neither traced nor stopped, and
// counts no stop.
func TestGrabDoesNotTouch(t *testing.T) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "spin.c"))
	g.Ready()
	r := newRegistry(t)
	h := grab(t, r, g.PID)
	for _, o := range h.Space().Objects() {
		if o.File == nil && !strings.HasPrefix(o.Path, "[") {
			t.Errorf("%s is not opened", o.Path)
		}
	}
	if p := g.TracerPID(); p != 0 {
		t.Errorf("traced by %d", p)
	}
	g.AwaitWork(truth.Work() + 1)
	release(t, h)
	g.AwaitWork(truth.Work() + 1)
}

func TestGrabOfTheDead(t *testing.T) {
	g := ptest.StartHelper(t, "execs")
	pc := address(t, g.Line())
	r := newRegistry(t)
	h := grab(t, r, g.PID)
	release(t, grab(t, r, os.Getpid()))
	wantLen(t, r, 2, 1)
	g.Kill()
	if err := h.id.wait(t.Context()); err != nil { // a zombie now
		t.Fatal(err)
	}
	if _, err := r.Grab(t.Context(), g.PID); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("Grab of a zombie: %v", err)
	}
	wantLen(t, r, 1, 1)
	if _, err := h.Memory(); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("Memory of a zombie: %v", err)
	}
	if h.Alive() || !errors.Is(h.Space().Refresh(), syscall.ESRCH) {
		t.Error("a zombie is alive")
	}
	if f := h.Space().Symbolize(pc, Return, nil); !strings.HasSuffix(f[0].Func, "handle.here") {
		t.Errorf("Symbolize after the end: %+v", f)
	}
	g.Wait()
	if _, err := r.Grab(t.Context(), g.PID); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("Grab of no process: %v", err)
	}
	release(t, h)
	if _, err := h.Memory(); err != os.ErrClosed {
		t.Errorf("Memory of a closed handle: %v", err)
	}
}

// TestLeaderless grabs a process whose leader has ended: it is alive, and its
// map and memory are those of its other threads.
func TestLeaderless(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "testdata/layout.c"), "leave")
	var landmark uint64
	if _, err := fmt.Sscanf(g.Line(), "0x%x", &landmark); err != nil {
		t.Fatal(err)
	}
	g.WaitState("Z")
	r := newRegistry(t)
	h := grab(t, r, g.PID)
	if !h.Alive() {
		t.Error("not alive")
	}
	if f := h.Space().Symbolize(landmark, 0, nil); f[0].Func != "landmark" {
		t.Errorf("Symbolize = %+v", f)
	}
	m, err := h.Memory()
	if err != nil {
		t.Fatal(err)
	}
	o := h.Space().Named("a.out")[0]
	var want [4]byte
	if !o.File.ReadAddr(want[:], landmark-o.Bias) {
		t.Fatal("the file has no code for landmark")
	}
	for range 2 { // the second goes by another thread than the leader
		var got [4]byte
		if n, err := m.ReadAt(got[:], int64(landmark)); n != len(got) || err != nil || got != want {
			t.Errorf("ReadAt = %x, %v; want %x", got[:n], err, want)
		}
	}
	again := grab(t, r, g.PID)
	if again != h {
		t.Error("grabbed again it has another handle")
	}
	release(t, h, again)
}

func BenchmarkGrab(b *testing.B) {
	r := newRegistry(b)
	g := ptest.StartHelper(b, "execs")
	g.Line()
	run := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h, err := r.Grab(b.Context(), g.PID)
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Release(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("idle", run)
	h, err := r.Grab(b.Context(), g.PID)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("held", run)
	if err := h.Release(); err != nil {
		b.Fatal(err)
	}
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		none, err := NewRegistry(0, elfsym.NewCache(4))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			h, err := none.Grab(b.Context(), g.PID)
			if err != nil {
				b.Fatal(err)
			}
			h.Release()
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			h.id.check()
		}
	})
}

// TestGrabOfVforkChild grabs a child in vfork. When the child executes a program,
// the parent keeps the old address space alive.
func TestGrabOfVforkChild(t *testing.T) { grabVforkChild(t) }

// TestGrabOfVforkChildWithoutKcmp is TestGrabOfVforkChild where nothing shows that the memory is shared.
func TestGrabOfVforkChildWithoutKcmp(t *testing.T) {
	if ptest.Without(t, "kcmp") {
		grabVforkChild(t)
	}
}

func grabVforkChild(t *testing.T) {
	t.Helper()
	g := ptest.Start(t, ptest.BuildC(t, "testdata/vfork.c"))
	var pid int
	if _, err := fmt.Sscan(g.Line(), &pid); err != nil {
		t.Fatal(err)
	}
	r := newRegistry(t)
	h := grab(t, r, pid)
	old := h.Space()
	release(t, h)
	fmt.Fprintln(g.Stdin)
	main := address(t, g.Line())
	again := grab(t, r, pid)
	if again.Space() == old {
		t.Error("the map is that of the parent")
	}
	if f := again.Space().Symbolize(main, 0, nil); f[0].Func != "main" || f[0].Offset != 0 {
		t.Errorf("Symbolize = %+v", f)
	}
	release(t, again)
}
