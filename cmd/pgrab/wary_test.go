package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptest/uprobe"
)

// wary are processes or circumstances in which a trap may do harm, or cannot be had. All run wary.c.
var wary = []struct {
	name  string
	start func(*testing.T) (g *ptest.Target, pid int)
	user  bool   // pgrab belongs to an ordinary user
	why   string // there are no uprobes; "": there are
}{
	{"plain", waryKind("plain"), false, ""},
	{"own SIGWINCH", waryKind("winch"), false, ""},
	{"own SIGURG", waryKind("urg"), false, ""},
	{"own SIGWINCH and SIGURG", waryKind("both"), false, ""},
	{"blocked signals", waryKind("masked"), false, "a thread blocks SIGWINCH and SIGURG"},
	{"seccomp strict", waryKind("strict"), false, ""},
	{"seccomp filter", waryKind("filter"), false, ""},
	{"deleted", startDeleted, false, ""},
	{"mount namespace", startElsewhere, false, ""},
	{"pid namespace", startInside, false, ""},
	{"ordinary user", startOfUser, true, "uprobes need CAP_BPF and CAP_PERFMON"},
}

const (
	waryCalls = 20 // of hot, in one turn
	nobody    = 65534
)

func waryKind(kind string) func(*testing.T) (*ptest.Target, int) {
	return func(t *testing.T) (*ptest.Target, int) {
		if kind == "strict" {
			ptest.NeedStrict(t)
		}
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "wary.c"), "-k", kind)
		g.Ready()
		return g, g.PID
	}
}

// startDeleted starts a process whose executable was deleted.
func startDeleted(t *testing.T) (*ptest.Target, int) {
	exe := ptest.Copy(t, ptest.BuildC(t, "wary.c"))
	g := ptest.Start(t, exe)
	g.Ready()
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	return g, g.PID
}

// startElsewhere starts a process whose executable is only in its own mount namespace.
func startElsewhere(t *testing.T) (*ptest.Target, int) {
	needNamespaces(t)
	g := ptest.Start(t, "unshare", "-m", "sh", "-c", `mount -t tmpfs none "$1" && cp "$0" "$1" && exec "$1/wary"`,
		ptest.BuildC(t, "wary.c"), t.TempDir())
	g.Ready()
	return g, g.PID
}

// startInside starts a process in a PID namespace of its own.
func startInside(t *testing.T) (*ptest.Target, int) {
	needNamespaces(t)
	g := ptest.Start(t, "unshare", "-pfm", "--kill-child", "sh", "-c", `"$0"; exit $?`, ptest.BuildC(t, "wary.c"))
	g.Ready()
	shell := onlyChild(t, g.PID)
	return g, onlyChild(t, shell)
}

func needNamespaces(t *testing.T) {
	t.Helper()
	ptest.NeedNamespaces(t, "-pfm")
}

func onlyChild(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skipf("this kernel does not tell children: %v", err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatalf("process %d has children %q", pid, b)
	}
	return child
}

// startOfUser starts a process of an ordinary user. pgrab runs as the same user.
func startOfUser(t *testing.T) (*ptest.Target, int) {
	needOrdinary(t)
	g := ptest.StartWith(t, &ptest.Options{Attr: asNobody()}, publicCopy(t, ptest.BuildC(t, "wary.c")))
	g.Ready()
	return g, g.PID
}

// needOrdinary skips a test if no ordinary user may trace here.
func needOrdinary(t *testing.T) {
	t.Helper()
	ptest.NeedUsers(t)
	if b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); err == nil && string(b) != "0\n" {
		t.Skip("Yama lets ordinary users trace their own children only")
	}
}

func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

// TestWary: with either kind of trap such a process notices nothing, every hit is counted, and no trap
// is left when the process is let go or pgrab is killed. If there can be no uprobe, one line says why,
// and what is used instead.
func TestWary(t *testing.T) {
	for _, w := range wary {
		for _, trap := range []string{"auto", "int3", "uprobe"} {
			if testing.Short() && trap == "uprobe" && w.why == "" {
				continue // as auto
			}
			t.Run(w.name+"/"+trap, func(t *testing.T) {
				t.Parallel() // most of it waits for grace periods of the kernel
				if trap != "int3" {
					uprobe.Need(t)
				}
				g, pid := w.start(t)
				before := dispositionsOf(pid)
				v := visit{t: t, g: g, pid: pid, trap: trap, user: w.user, int3: trap == "int3" || w.why != ""}
				if trap == "uprobe" && w.why != "" {
					v.refused("no uprobe can be had: ", w.why)
				} else {
					v.counts(trap == "auto", w.why)
					v.killed()
				}
				if now := dispositionsOf(pid); now != before {
					t.Errorf("signals are %q, were %q", now, before)
				}
				v.turn()
				out, state := g.Finish()
				if want := fmt.Sprintf("done %d\n", v.sum); out != want || !state.Success() {
					t.Errorf("ended with %v, printed %q, want %q", state, out, want)
				}
			})
		}
	}
}

// visit is one grab of a process by pgrab.
type visit struct {
	t     *testing.T
	g     *ptest.Target
	pid   int
	trap  string
	user  bool // pgrab belongs to an ordinary user
	int3  bool // the breakpoint is an int3
	turns int
	sum   int // sum of what the turns have printed
}

// turn has the process make its calls once.
func (v *visit) turn() {
	v.t.Helper()
	if _, err := io.WriteString(v.g.Stdin, "x"); err != nil {
		v.t.Fatal(err)
	}
	v.turns++
	var sum int
	if _, err := fmt.Sscanf(v.g.Line(), "turn %d", &sum); err != nil || sum != 590 { // of 3n+1, n < 20
		v.t.Fatalf("turn %d: sum %d, %v", v.turns, sum, err)
	}
	v.sum += sum
}

// pgrab starts a pgrab whose errors are among its lines.
func (v *visit) pgrab() *ptest.Target {
	v.t.Helper()
	o, path := new(ptest.Options), pgrabPath(v.t)
	if v.user {
		o.Attr, path = asNobody(), publicPgrab(v.t)
	}
	return ptest.StartWith(v.t, o, "sh", "-c", `exec "$0" "$@" 2>&1`, path,
		"--trap", v.trap, "-s", "none", "-b", "hot", "-p", strconv.Itoa(v.pid))
}

// guard returns the guard process of a pgrab. There is one if the breakpoint is an int3.
func (v *visit) guard(p *ptest.Target) (guard int) {
	v.t.Helper()
	if v.int3 {
		p.WaitFor("its guard", func() bool { guard = guardOf(p.PID); return guard != 0 })
	}
	return guard
}

// counts has every call hit a breakpoint, and compares what pgrab says.
func (v *visit) counts(uprobesWanted bool, why string) {
	v.t.Helper()
	p := v.pgrab()
	said := p.Line()
	for !strings.HasSuffix(said, "grabbed (1 thread)") {
		said += "\n" + p.Line()
	}
	guard := v.guard(p)
	const turns = 3
	for range turns {
		v.turn()
	}
	p.Signal(os.Interrupt)
	out, state := p.Finish()
	if !state.Success() {
		v.t.Errorf("pgrab: %v", state)
	}
	said += "\n" + out
	if n := strings.Count(said, " hit hot+0 in wary (hit "); n != turns*waryCalls {
		v.t.Errorf("%d hits of %d", n, turns*waryCalls)
	}
	warnings := 0
	if uprobesWanted && why != "" {
		warnings = 1
		if !strings.Contains(said, why) || !strings.Contains(said, "): harmless unless SIGKILL ends pgrab; its guard then removes them, ") {
			v.t.Errorf("it is not said that %s", why)
		}
	}
	if n := strings.Count(said, "pgrab: "); n != warnings {
		v.t.Errorf("%d complaints, want %d", n, warnings)
	}
	if v.t.Failed() {
		v.t.Log(said)
	}
	v.nothingLeft(guard)
}

// killed kills a pgrab while the process waits.
func (v *visit) killed() {
	v.t.Helper()
	p := v.pgrab()
	p.Until("grabbed (1 thread)")
	guard := v.guard(p)
	v.turn()
	p.Until(fmt.Sprintf("(hit %d)", waryCalls))
	v.g.WaitFor("its sleep", func() bool { return stateOf(v.pid) == 'S' })
	p.Kill()
	p.Wait()
	v.g.WaitFor("the end of the guard", func() bool { return !isGuard(guard) })
	v.nothingLeft(guard)
	v.turn()
}

// refused has pgrab fail, without harm.
func (v *visit) refused(reasons ...string) {
	v.t.Helper()
	out, state := v.pgrab().Finish()
	if state.ExitCode() != 1 || strings.Count(out, "\n") != 1 {
		v.t.Errorf("%v, printed %q", state, out)
	}
	for _, reason := range reasons {
		if !strings.Contains(out, reason) {
			v.t.Errorf("printed %q, without %q", out, reason)
		}
	}
	v.nothingLeft(0)
}

func (v *visit) nothingLeft(guard int) {
	v.t.Helper()
	if guard != 0 && isGuard(guard) {
		v.t.Error("its guard is left")
	}
	ptest.TextIntact(v.t, v.pid)
	if by := tracerOf(v.pid); by != "0" {
		v.t.Errorf("still traced by %s", by)
	}
}

func stateOf(pid int) byte { return (statusLine(pid, "State:") + "?")[0] }

func tracerOf(pid int) string { return statusLine(pid, "TracerPid:") }

// statusLine returns the value of a key in /proc/PID/status.
func statusLine(pid int, key string) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status") // empty when it has ended
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
