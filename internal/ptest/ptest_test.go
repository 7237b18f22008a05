package ptest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) { Main(m) }

var _ = Helper("echo", func() {
	Ready()
	AwaitEOF()
	os.Stdout.WriteString(strings.Join(os.Args[1:], " ") + "\n")
	OpenTruth().AddWork(7)
})

func TestHelper(t *testing.T) {
	g := StartHelper(t, "echo", "a", "b")
	g.Ready()
	g.WaitState("S")
	out, state := g.Finish()
	if out != "a b\n" || !state.Success() {
		t.Errorf("printed %q, %v", out, state)
	}
	if g.State() != 'X' {
		t.Errorf("state %c after its end", g.State())
	}
}

func TestSpin(t *testing.T) {
	truth := NewTruth(t)
	g := StartWith(t, &Options{Truth: truth}, BuildC(t, "spin.c"), "-t", "3")
	g.Ready()
	if n := len(g.Threads()); n != 4 {
		t.Errorf("%d threads", n)
	}
	g.AwaitWork(100)
	out, state := g.Finish()
	if !strings.HasPrefix(out, "done ") || state.ExitCode() != 0 {
		t.Errorf("printed %q, %v", out, state)
	}
}

// TestForeign: a foreign target is not our child, and Wait still returns how it has ended.
func TestForeign(t *testing.T) {
	g := StartWith(t, &Options{Foreign: true, Truth: NewTruth(t)}, BuildC(t, "spin.c"))
	g.Ready()
	g.AwaitWork(1)
	if ppid := statusNumber(g.PID, g.PID, "PPid:"); ppid == os.Getpid() || ppid == 0 {
		t.Errorf("child of %d", ppid)
	}
	if out, state := g.Finish(); !strings.HasPrefix(out, "done ") || !state.Success() {
		t.Errorf("printed %q, %v", out, state)
	}
	g = StartWith(t, &Options{Foreign: true}, BuildC(t, "spin.c"))
	g.Ready()
	g.Signal(syscall.SIGUSR1)
	if ws := g.Wait().Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGUSR1 {
		t.Errorf("wait status %#x", ws)
	}
}

// TestKill: Wait returns which signal has killed a target.
func TestKill(t *testing.T) {
	g := Start(t, BuildC(t, "spin.c"))
	g.Ready()
	g.Kill()
	if ws := g.Wait().Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL {
		t.Errorf("wait status %#x", ws)
	}
}

// TestKeeper: the keeper kills the targets that a killed test binary leaves, and removes its temporary files.
func TestKeeper(t *testing.T) {
	if os.Getenv("PTEST_ORPHAN") != "" {
		g := Start(t, "sleep", "1000")
		println(g.PID, t.TempDir())
		self, _ := os.FindProcess(os.Getpid())
		self.Kill()
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKeeper$")
	cmd.Env = append(os.Environ(), "PTEST_ORPHAN=1")
	out, _ := cmd.CombinedOutput() // it was killed
	var pid int
	var dir string
	if _, err := fmt.Sscan(string(out), &pid, &dir); err != nil {
		t.Fatalf("printed %q: %v", out, err)
	}
	if !poll(Patience, func() bool { s := threadState(pid, pid); return s == 'X' || s == 'Z' }) {
		t.Errorf("process %d of a killed test lives", pid)
	}
	if !poll(Patience, func() bool { _, err := os.Stat(dir); return os.IsNotExist(err) }) {
		t.Errorf("%s of a killed test is there", dir)
	}
}

// TestLeaks: every kind of leak is described.
func TestLeaks(t *testing.T) {
	before := observe()
	if err := tellKeeper('?', 0); err != nil { // the keeper is a child like any other
		t.Fatal(err)
	}
	f, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop := make(chan bool)
	defer close(stop)
	go func() { <-stop }()
	for what, found := range map[string][]string{
		"child":          children(),
		"TestLeaks.func": goroutines(),
		"dev/null":       before.newFiles(),
	} {
		if !strings.Contains(strings.Join(found, "\n"), what) {
			t.Errorf("no %q in %q", what, found)
		}
	}
}

// TestTextDiffers: a byte written over text is found, and nothing else is.
func TestTextDiffers(t *testing.T) {
	g := Start(t, BuildC(t, "spin.c"))
	g.Ready()
	text, found, err := textDiffers(g.PID, anyByte)
	if err != nil || found != "" || !strings.Contains(text, "/spin") || !strings.Contains(text, "libc") {
		t.Fatalf("intact: %q, %v, in\n%s", found, err, text)
	}
	m, ok := parseText(text[:strings.IndexByte(text, '\n')+1])
	if !ok {
		t.Fatalf("no mapping in %q", text)
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", g.PID), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var b [1]byte
	if _, err := mem.ReadAt(b[:], int64(m.start)); err != nil {
		t.Fatal(err)
	}
	if _, err := mem.WriteAt([]byte{b[0] ^ 0xff}, int64(m.start)); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := textDiffers(g.PID, anyByte); !strings.Contains(found, fmt.Sprintf("%#x", m.start)) {
		t.Errorf("patched byte: %q", found)
	}
	if HasTraps(g.PID) {
		t.Error("a byte that is no int3 is taken for one")
	}
	if _, err := mem.WriteAt([]byte{0xCC}, int64(m.start)); err != nil {
		t.Fatal(err)
	}
	if !HasTraps(g.PID) {
		t.Error("an int3 is not found")
	}
	if _, err := mem.WriteAt(b[:], int64(m.start)); err != nil {
		t.Fatal(err)
	}
}

func TestParseText(t *testing.T) {
	m, ok := parseText("55d0-55d1 r-xp 00001000 fe:01 42    /tmp/a b (deleted)\n")
	if want := (mapping{0x55d0, 0x55d1, 0x1000, "55d0-55d1", "/tmp/a b"}); !ok || m != want {
		t.Errorf("%+v, %v", m, ok)
	}
	for _, line := range []string{"", "1-2 rw-p 0 fe:01 42 /a\n", "7ffc-7ffd r-xp 00000000 00:00 0  [vdso]\n"} {
		if _, ok := parseText(line); ok {
			t.Errorf("%q is text", line)
		}
	}
}

// TestHolders: holders says which process has a pipe that does not end, and where its threads are.
func TestHolders(t *testing.T) {
	g := Start(t, "/bin/sh", "-c", "sleep 1000 & echo $!")
	var sleeper int
	if _, err := fmt.Sscan(g.Line(), &sleeper); err != nil {
		t.Fatal(err)
	}
	g.Wait()
	want := fmt.Sprintf("process %d thread %d (sleep) state S", sleeper, sleeper)
	if said := holders(g.pipe()); !strings.Contains(said, want) || !strings.Contains(said, "nanosleep") {
		t.Errorf("held by %s, want %s", said, want)
	}
}

// TestKillRest: what is left of the group of a leader that was reaped is killed, unless all of it has begun since: then
// the number is another process's.
func TestKillRest(t *testing.T) {
	g := Start(t, "/bin/sh", "-c", "sleep 1000 & echo $!")
	var sleeper int
	if _, err := fmt.Sscan(g.Line(), &sleeper); err != nil {
		t.Fatal(err)
	}
	leader := g.PID
	g.Wait()
	begun, ok := memberOf(leader, sleeper)
	if !ok || begun > g.reaped {
		t.Fatalf("begun %d, leader reaped %d, %v", begun, g.reaped, ok)
	}
	killRest(leader, begun-1)
	if s := threadState(sleeper, sleeper); s == 'Z' || s == 'X' {
		t.Error("a process of another group with that number was killed")
	}
	killRest(leader, g.reaped)
	g.WaitFor("the end of the sleeper", func() bool { s := threadState(sleeper, sleeper); return s == 'Z' || s == 'X' })
}

// TestMeasure: a command that a large process has started has used little memory, and its output and status are had.
func TestMeasure(t *testing.T) {
	large := make([]byte, 64<<20)
	for i := range large {
		large[i] = 1
	}
	u := Measure(t, time.Minute, "/bin/sh", "-c", "echo out; echo err >&2; exit 3")
	if u.Status != "exit status 3" || u.Output != "out\nerr\n" || u.Memory <= 0 || u.Memory >= int64(len(large)) || u.Time <= 0 {
		t.Errorf("%+v", u)
	}
	if u := Measure(t, time.Millisecond, "/bin/sleep", "1000"); u.Status != "signal: killed" {
		t.Errorf("%+v", u)
	}
	runtime.KeepAlive(large)
}
