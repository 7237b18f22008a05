package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// scene is a target with breakpoints in it whose pgrab is killed.
type scene struct {
	name   string
	target string // source and arguments
	args   []string
	after  string        // a line of pgrab's output; "": from the start of pgrab
	within time.Duration // time after that
	fate   fate
}

// fate is what may become of the target.
type fate uint8

const (
	lives   fate = 1 << iota // always
	mayEnd                   // by a trap whose stop was not handled
	mayFail                  // because a child of its own ended so, or its handler was called
	ofUser                   // and both are an ordinary user's
)

// The targets run until their standard input ends, and find out themselves whether all went well.
var scenes = []scene{
	{"100 hits a second", "hits.c -p 10000", at("hot"), "hot", 30 * time.Millisecond, mayEnd},
	{"100 hits a second of 16 threads", "hits.c -t 16 -p 160000 -s 1", at("hot"), "hot", 30 * time.Millisecond, mayEnd},
	{"16 threads at the same time, 6 times a second", "hits.c -t 16 -p 160000", at("hot"), "hot", 30 * time.Millisecond, mayEnd},
	{"100 hits a second, ordinary user", "hits.c -p 10000", at("hot"), "hot", 30 * time.Millisecond, mayEnd | ofUser},
	{"as many hits as there can be", "hits.c", at("hot"), "hot", 30 * time.Millisecond, mayEnd},
	{"as many of 16 threads", "hits.c -t 16", at("hot"), "hot", 30 * time.Millisecond, mayEnd},
	{"attaching", "hits.c -t 4 -p 10000", at("hot"), "", 20 * time.Millisecond, mayEnd},
	{"attaching, ordinary user", "hits.c -t 4 -p 10000", at("hot"), "", 20 * time.Millisecond, mayEnd | ofUser},
	{"releasing", "hits.c -t 4 -p 10000", at("hot", "-t", "5ms"), "grabbed", 12 * time.Millisecond, mayEnd},
	{"arming and disarming 200", "places.c -t 16", append([]string{"--trap", "int3", "-s", "none", "-t", "50ms"}, places(200)...), "", 100 * time.Millisecond, lives},
	{"thread storm", "threadstorm.c -t 4", at("pthread_create"), "pthread_create", 30 * time.Millisecond, mayEnd},
	{"any moment", "hits.c -p 10000", at("hot", "-t", "30ms"), "", 80 * time.Millisecond, mayEnd},
	{"Go", "gomix.go", at("main.round"), "main.round", 30 * time.Millisecond, mayFail},
	{"forks", "hits.c -t 2 -p 5000 -f 1", at("hot"), "hot", 30 * time.Millisecond, mayFail},
	{"vfork storm", "vforkstorm.c -t 2", at("start_child"), "start_child", 30 * time.Millisecond, mayFail},
	{"exec storm", "execstorm.c -t 2", at("exec_again"), "", 80 * time.Millisecond, mayEnd},
	{"plain grab", "threadstorm.c -t 4", []string{"-s", "none"}, "grabbed", 30 * time.Millisecond, lives},
	{"rendezvous", "hits.c -t 4", []string{"--trap", "int3", "-s", "grab", "-H", "1h", "-b", "hot"}, "stopped", 5 * time.Millisecond, lives},
}

// at are int3s at functions, and further arguments.
func at(function string, more ...string) []string {
	return append([]string{"--trap", "int3", "-s", "none", "-b", function}, more...)
}

// places are breakpoints in places.c, which no thread reaches.
func places(n int) (args []string) {
	for i := range n {
		args = append(args, "-b", fmt.Sprintf("places+%d", 3*i))
	}
	return args
}

// TestGuarded: a target with int3s outlives a SIGKILL of pgrab, ends as it does alone, and has
// its own text again. A thread that reaches a breakpoint before the guard process does is lost.
// So is a thread that has hit one, if the stop was not handled. So if there are hits, the test
// counts how many targets survive, and does not assert it. Lost targets end by SIGTRAP: none runs
// on damaged.
func TestGuarded(t *testing.T) {
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			argv := strings.Fields(s.target)
			argv[0] = buildTarget(t, argv[0])
			pgrab := pgrabPath(t)
			if s.fate&ofUser != 0 {
				needOrdinary(t)
				argv[0], pgrab = publicCopy(t, argv[0]), publicCopy(t, pgrab)
			}
			random := ptest.Rand(t)
			rounds, ends := ptest.Rounds(1, 5, 200), map[string]int{}
			for range rounds {
				state := s.kill(t, random, pgrab, argv)
				ends[state.String()]++
				trapped := state.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTRAP
				switch {
				case state.Success() || s.fate&mayFail != 0:
				case s.fate&lives != 0:
					t.Errorf("the target did not survive: %v", state)
				case !trapped:
					t.Errorf("the target was damaged: %v", state)
				}
			}
			t.Logf("%d targets: %v", rounds, ends)
		})
	}
}

// kill kills pgrab once and returns how the target has ended.
func (s *scene) kill(t *testing.T, random *rand.Rand, pgrab string, argv []string) *os.ProcessState {
	t.Helper()
	o := new(ptest.Options)
	if s.fate&ofUser != 0 {
		o.Attr = asNobody()
	}
	g := ptest.StartWith(t, o, argv...)
	g.Ready()
	p := ptest.StartWith(t, o, append([]string{pgrab, "-p", strconv.Itoa(g.PID)}, s.args...)...)
	if s.after != "" {
		for line := p.Line(); line != "" && !strings.Contains(line, s.after); line = p.Line() {
		}
	}
	guard := guardOf(p.PID)
	ptest.AMoment(random, s.within)
	if guard == 0 {
		guard = guardOf(p.PID)
	}
	p.Kill()
	p.Wait()
	p.WaitFor("the end of the guard", func() bool { return !isGuard(guard) })
	g.WaitFor("its own text", func() bool { return !ptest.HasTraps(g.PID) }) // in case of a guard that was not seen
	_, state := g.Finish()
	return state
}

// TestGuardedAtPoint: a command that is held at a rendezvous resumes from there when pgrab is killed.
// Most rendezvous are at breakpoints that were hit.
func TestGuardedAtPoint(t *testing.T) {
	exe := ptest.BuildC(t, "hits.c")
	for _, point := range []string{"exec", "preinit", "postinit", "main"} {
		t.Run(point, func(t *testing.T) {
			for range ptest.Rounds(1, 4, 50) {
				p := startPgrab(t, "--trap", "int3", "-e", "run", "-s", point, "-H", "1h", "--", exe, "-t", "2", "-n", "1000")
				for line := p.Line(); !strings.Contains(line, "stopped at "+point); line = p.Line() {
				}
				p.Kill()
				if out := p.Output(); out != "ready\ndone 2\n" {
					t.Errorf("the command printed %q", out)
				}
				p.Wait()
			}
		})
	}
}

// TestGuardEnds: a pgrab that lets go in the usual way leaves no guard process. Without a
// breakpoint it has none.
func TestGuardEnds(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	g.Ready()
	p := startPgrab(t, "-q", "--trap", "int3", "-s", "none", "-b", "main", "-p", strconv.Itoa(g.PID))
	guard := 0
	g.WaitFor("the guard", func() bool { guard = guardOf(p.PID); return guard != 0 })
	p.Signal(os.Interrupt)
	if state := p.Wait(); !state.Success() {
		t.Errorf("pgrab: %v", state)
	}
	if isGuard(guard) {
		t.Errorf("the guard is still there")
	}

	p = startPgrab(t, "-q", "-s", "grab", "-p", strconv.Itoa(g.PID))
	g.WaitFor("the rendezvous", g.Stopped)
	if guard := guardOf(p.PID); guard != 0 {
		t.Errorf("pgrab without a breakpoint has a guard, %d", guard)
	}
	p.Signal(os.Interrupt)
	p.Wait()
	if _, state := g.Finish(); !state.Success() {
		t.Errorf("target: %v", state)
	}
}

// buildTarget builds a target by its ending.
func buildTarget(t *testing.T, src string) string {
	t.Helper()
	if strings.HasSuffix(src, ".go") {
		return ptest.BuildGo(t, src)
	}
	return ptest.BuildC(t, src)
}
