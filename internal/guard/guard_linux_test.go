package guard

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"ptools/internal/mem"
	"ptools/internal/ptest"
)

// page returns n bytes that may only be read and executed, as text is.
func page(n int) []byte {
	b, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		panic(err)
	}
	return b[:n]
}

func addrOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

func open(t *testing.T, pid int) *os.File {
	t.Helper()
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestLift: the original bytes return where our bytes are, and nowhere else.
func TestLift(t *testing.T) {
	text := page(6)
	self := open(t, os.Getpid())
	if _, err := self.WriteAt([]byte("aXcXeX"), int64(addrOf(text))); err != nil {
		t.Fatal(err)
	}
	l := newTestLedger(8)
	fd := uint32(self.Fd())
	for _, p := range []patch{
		{fd, 0, addrOf(text) + 0, 'X', 'a'}, // not written yet
		{fd, 0, addrOf(text) + 1, 'X', 'b'},
		{fd, 0, addrOf(text) + 4, 'X', 'c'},          // the program has written to it
		{1 << 30, 0, addrOf(text) + 5, 'X', 'f'},     // the target is gone
		{fd, 0, 0, 'X', 'x'}, {fd, 0, 1 << 63, 0, 1}, // so is that text
	} {
		l.put(p)
	}
	dropped, _ := l.put(patch{fd, 0, addrOf(text) + 3, 'X', 'd'})
	l.drop(dropped)
	lift(l.words, 0)
	if string(text) != "abcXeX" {
		t.Errorf("text is %s, want abcXeX", text)
	}
}

// The helper "target" prints the address of its text. The helper that is guarded patches the text of
// others, in the order of its arguments PID ADDR, and waits.
var (
	_ = ptest.Helper("target", func() {
		fmt.Printf("%#x\n", addrOf(page(1)))
		ptest.AwaitEOF()
	})
	_ = ptest.Helper("guarded", func() {
		var g Guard
		for a := os.Args[1:]; len(a) >= 2; a = a[2:] {
			pid, _ := strconv.Atoi(a[0])
			addr, _ := strconv.ParseUint(a[1], 0, 64)
			patchOther(&g, pid, addr)
		}
		if err := g.Err(); err != nil {
			panic(err)
		}
		if os.Args[len(os.Args)-1] == "exec" {
			syscall.Exec("/bin/cat", []string{"cat"}, nil)
		}
		fmt.Println(g.pid(), waits())
		ptest.AwaitEOF()
	})
)

// patchOther writes over the zero at an address of another process.
func patchOther(g *Guard, pid int, addr uint64) *Watch {
	m, err := mem.Open(pid)
	if err != nil {
		panic(err)
	}
	defer m.Close() // the watch has a descriptor of its own
	w := g.Watch()
	w.Bind(m)
	w.Planting(addr, breakByte, 0)
	if _, err := m.WriteAt([]byte{breakByte}, int64(addr)); err != nil {
		panic(err)
	}
	return w
}

// pid returns the number of the guard process.
func (g *Guard) pid() int {
	g.deathWatch.mu.Lock()
	defer g.deathWatch.mu.Unlock()
	return g.deathWatch.pid
}

// waits returns what a wait for any child returns.
func waits() string {
	var ws syscall.WaitStatus
	_, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
	out, e := exec.Command("true").CombinedOutput()
	return fmt.Sprint(err, ", ", string(out), e)
}

// targets starts n targets and returns the arguments of a guarded process.
func targets(t *testing.T, n int) (gs []*ptest.Target, args []string) {
	for range n {
		g := ptest.StartHelper(t, "target")
		gs = append(gs, g)
		args = append(args, strconv.Itoa(g.PID), g.Line())
	}
	return gs, args
}

// patched reports whether a byte of ours is in the text of a target.
func patched(t *testing.T, g *ptest.Target, addr string) bool {
	t.Helper()
	a, err := strconv.ParseUint(addr, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err := open(t, g.PID).ReadAt(b[:], int64(a)); err != nil {
		t.Fatal(err)
	}
	return b[0] == breakByte
}

// TestKilled: when the guarded process is killed the text of two targets is their own again, and the
// guard process is gone. Signals that end a group of processes do not end the guard process, and a wait
// for any child does not return it.
func TestKilled(t *testing.T) {
	for range ptest.Rounds(3, 20, 200) {
		gs, args := targets(t, 2)
		p := ptest.StartHelper(t, "guarded", args...)
		word, waits, _ := strings.Cut(p.Line(), " ")
		guard, _ := strconv.Atoi(word)
		if waits != "no child processes, <nil>" {
			t.Errorf("waits for any child: %s", waits)
		}
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGTSTP} {
			syscall.Kill(guard, sig)
		}
		for i, g := range gs {
			if !patched(t, g, args[2*i+1]) {
				t.Fatal("nothing is patched")
			}
		}
		p.Kill()
		p.Wait()
		for i, g := range gs {
			g.WaitFor("its own text", func() bool { return !patched(t, g, args[2*i+1]) })
		}
		p.WaitFor("the end of the guard process", func() bool { return !lives(guard) })
	}
}

// TestExec: a program that executes another one counts as ended as well.
func TestExec(t *testing.T) {
	gs, args := targets(t, 1)
	p := ptest.StartHelper(t, "guarded", append(args, "exec")...)
	gs[0].WaitFor("its own text", func() bool { return comm(p.PID) == "cat" && !patched(t, gs[0], args[1]) })
}

// TestGuardKilled: a program continues when its guard process is killed, and Err says that. There is no
// zombie. When the program needs a guard again, it gets one.
func TestGuardKilled(t *testing.T) {
	gs, args := targets(t, 1)
	addr, _ := strconv.ParseUint(args[1], 0, 64)
	var g Guard
	w := patchOther(&g, gs[0].PID, addr)
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	pid := g.pid()
	syscall.Kill(pid, syscall.SIGKILL)
	<-g.deathWatch.gone
	if err := g.Err(); err != errGone {
		t.Errorf("error %v", err)
	}
	if comm(pid) != "" {
		t.Errorf("the guard process is a zombie")
	}
	w.Planting(addr+1, 1, 0)
	w.Lifted(addr)
	w.Close()
	if err := g.Err(); err != nil {
		t.Errorf("without a watch: %v", err)
	}
	w = patchOther(&g, gs[0].PID, addr)
	if err := g.Err(); err != nil || !lives(g.pid()) {
		t.Errorf("no second guard: %v", err)
	}
	w.Close()
}

// TestStoppedGuard: a guard process that has been stopped by a signal keeps no thread waiting.
func TestStoppedGuard(t *testing.T) {
	gs, args := targets(t, 1)
	addr, _ := strconv.ParseUint(args[1], 0, 64)
	var g Guard
	w := patchOther(&g, gs[0].PID, addr)
	syscall.Kill(g.pid(), syscall.SIGSTOP)
	w.Close()
}

// TestNobodyGuarded: without a Guard, and before the first trap, nothing is done.
func TestNobodyGuarded(t *testing.T) {
	var none *Guard
	w := none.Watch()
	w.Bind(nil)
	w.Planting(1, 2, 3)
	w.Lifted(1)
	w.Close()
	var g Guard
	w = g.Watch()
	w.Planting(1, 2, 3) // of no memory
	if g.deathWatch != nil || g.Err() != nil {
		t.Errorf("a guard of nothing: %v", g.Err())
	}
	w.Close()
}

// lives reports whether a process has not ended.
func lives(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func comm(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(b))
}

// BenchmarkStart measures the time until the first byte may be planted.
func BenchmarkStart(b *testing.B) {
	m, err := mem.Open(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	for b.Loop() {
		var g Guard
		w := g.Watch()
		w.Bind(m)
		w.Planting(1, 2, 3)
		b.StopTimer()
		w.Close()
		b.StartTimer()
	}
}

// BenchmarkPlanting measures the cost of a trap that returns to the text.
func BenchmarkPlanting(b *testing.B) {
	m, err := mem.Open(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	var g Guard
	w := g.Watch()
	defer w.Close()
	w.Bind(m)
	for b.Loop() {
		w.Planting(1, 2, 3)
	}
}

// TestReady: when the first trap may be planted, each thread of the guard process has its priority, and waits or is about
// to wait.
func TestReady(t *testing.T) {
	gs, args := targets(t, 1)
	addr, _ := strconv.ParseUint(args[1], 0, 64)
	for range ptest.Rounds(5, 20, 200) {
		var g Guard
		w := patchOther(&g, gs[0].PID, addr)
		for i := range int(g.ledger.words[pairsWord]) {
			if pair(g.ledger.words, i)[readyWord] == 0 {
				t.Errorf("thread %d is not ready", i)
			}
		}
		w.Close()
	}
}
