package control

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl/notify"
)

// run runs a program under control and returns its output.
func run(t testing.TB, o *Options, argv ...string) (*Controller, <-chan string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(bg, &Command{Path: argv[0], Args: argv, Files: []*os.File{os.Stdin, w, os.Stderr}}, o)
	w.Close()
	if err != nil {
		r.Close()
		t.Fatal(err)
	}
	out := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(r)
		r.Close()
		out <- string(b)
	}()
	t.Cleanup(func() { release(t, c, ModeKill) })
	return c, out
}

func TestCreate(t *testing.T) {
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create, notify.PointExec}}, "/bin/sh", "-c", "echo hello; exec /bin/echo again")
	s := c.Bus().Subscribe(notify.Exec)
	defer s.Close()
	for _, want := range []notify.Point{notify.Create, notify.PointExec} {
		if p, _ := c.Held(); p != want {
			t.Fatalf("held at %v, want %v", p, want)
		}
		if err := c.Continue(bg); err != nil {
			t.Fatal(err)
		}
	}
	if e := await(t, s, notify.Exec); e.Path == "" {
		t.Errorf("exec of nothing: %+v", e)
	}
	if e := await(t, s, notify.Undead); !e.Exited || e.Code != 0 {
		t.Errorf("end: %+v", e)
	}
	if got := <-out; got != "hello\nagain\n" {
		t.Errorf("output %q", got)
	}
}

func TestCreateFails(t *testing.T) {
	before := countFiles(t)
	for _, path := range []string{"/does/not/exist", "/etc/passwd", "/"} {
		c, err := Start(bg, &Command{Path: path, Files: []*os.File{os.Stdin}}, nil)
		if err == nil {
			release(t, c, ModeKill)
			t.Errorf("%s: started", path)
			continue
		}
		if err != syscall.ENOENT && err != syscall.EACCES {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n := countFiles(t); n > before { // those of earlier tests may be closed meanwhile
		t.Errorf("%d descriptors, had %d", n, before)
	}
}

func countFiles(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// TestCreateInherits: the command sees the limits and the signal mask that a child of
// os/exec sees, and no descriptor of ours.
func TestCreateInherits(t *testing.T) {
	c, out := run(t, nil, "/bin/sh", "-c", "ulimit -n; grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd")
	s := c.Bus().Subscribe()
	defer s.Close()
	await(t, s, notify.Undead)
	got := <-out
	var want bytes.Buffer
	cmd := exec.Command("/bin/sh", "-c", "ulimit -n; grep -E 'Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd")
	cmd.Stdout = &want
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got != want.String() {
		t.Errorf("under control:\n%s\nalone:\n%s", got, want.String())
	}
}

// TestReleasedKeepsItsParent: a released program that wants to end with its parent lives on, because the thread
// that has made it stays.
func TestReleasedKeepsItsParent(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		in, hold, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		out, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		path := ptest.BuildC(t, "mortal.c")
		c, err := Start(bg, &Command{Path: path, Files: []*os.File{in, w, os.Stderr}}, nil)
		w.Close()
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
		mode := ModeRun
		if stopped {
			mode = ModeStop
		}
		if err := c.Release(bg, mode); err != nil {
			t.Fatal(err)
		}
		if stopped {
			syscall.Kill(c.PID(), syscall.SIGCONT)
		}
		hold.Close()
		var end syscall.WaitStatus
		if _, err := syscall.Wait4(c.PID(), &end, 0, nil); err != nil || end.ExitStatus() != 7 {
			t.Errorf("%v, left stopped %v: signal %v, exit status %d", err, stopped, end.Signal(), end.ExitStatus())
		}
		out.Close()
		<-c.Done()
		c.Space().Close()
	}
}
