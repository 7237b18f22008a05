package control

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// storm is a target that does one thing as hard as it can.
type storm struct {
	name  string
	src   string
	args  string // with %n for the count
	n     int    // rounds in a short run
	flags string
}

var storms = []storm{
	{"threads", "threadstorm.c", "-t 4 -n %n", 2000, ""},
	{"fork", "forkstorm.c", "-t 3 -n %n", 100, ""},
	{"vfork", "vforkstorm.c", "-t 3 -n %n", 100, ""},
	{"spawn", "spawnstorm.c", "-t 3 -n %n", 60, ""},
	{"system", "spawnstorm.c", "-s -t 4 -n %n", 30, ""},
	{"clonevm", "clonevm.c", "-t 3 -n %n", 150, ""},
	{"exec", "execstorm.c", "-n %n -t 2", 100, ""},
	{"exec-thread", "execstorm.c", "-T -n %n -t 2", 100, ""},
	{"signals", "sigstorm.c", "-n %n", 400, ""},
	{"traps", "selftrap.c", "-n %n", 300, ""},
	// Calls that wait for children are left out. The program ignores SIGCHLD, but that is queued
	// for a traced process all the same. It wakes one thread, and may be taken by another one that
	// our stop has brought to its signals first. The thread that was woken returns EINTR without a
	// stop in which it could be moved back.
	{"blockers", "blockers.c", "-x wait -n %n", 20, ""},
}

// start starts a storm that is another process's child.
func (s *storm) start(t *testing.T) *ptest.Target {
	t.Helper()
	argv := append([]string{ptest.BuildC(t, s.src, strings.Fields(s.flags)...)}, s.argv(t)...)
	return ptest.StartWith(t, &ptest.Options{Foreign: true}, argv...)
}

func (s *storm) argv(t *testing.T) []string {
	t.Helper()
	n := ptest.Rounds(max(1, s.n/12), s.n/4, s.n*10)
	argv := strings.Fields(strings.ReplaceAll(s.args, "%n", strconv.Itoa(n)))
	if s.name == "blockers" && sockets(t) != nil {
		argv = append(argv, "-x", "recv SO_RCVTIMEO") // each stop would begin its timeout anew, for ever
	}
	return argv
}

// TestStorms: a storm is grabbed, looked at, paused and released all the time. That changes nothing
// in what it prints and how it ends.
func TestStorms(t *testing.T) {
	for _, s := range storms {
		t.Run(s.name, func(t *testing.T) {
			want, state := s.start(t).Finish()
			if !state.Success() {
				t.Fatalf("alone: %v, %s", state, want)
			}
			g := s.start(t)
			rounds := harass(t, g.PID)
			got, state := g.Finish()
			if !state.Success() {
				t.Errorf("%d rounds: %v", rounds, state)
			}
			if got != want {
				t.Errorf("%d rounds: printed\n%swant\n%s", rounds, got, want)
			}
		})
	}
}

// harass grabs and releases a process until it ends, and returns how often.
func harass(t *testing.T, pid int) (rounds int) {
	for ; ; rounds++ {
		c, err := Attach(bg, pid, nil)
		if err != nil {
			if !gone(pid) && !errors.Is(err, ErrEnded) {
				t.Errorf("round %d: attach: %v", rounds, err)
			}
			return rounds
		}
		for range rounds % 7 {
			if err := disturb(c); err != nil && !errors.Is(err, ErrEnded) {
				t.Errorf("round %d: %v", rounds, err)
			}
		}
		release(t, c, ModeRun)
	}
}

func gone(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return true
	}
	_, err = os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	return err != nil
}

func disturb(c *Controller) error {
	if err := c.Pause(bg, func(s *Stopped) error {
		for _, th := range s.Threads() {
			th.Regs()
		}
		return nil
	}); err != nil {
		return err
	}
	_, err := c.LookIf(bg, c.Threads(), nil, nil, func(int, *ptrace.Regs) {})
	return err
}

// TestBreakStorms is TestStorms with breakpoints that the storm hits all the time.
func TestBreakStorms(t *testing.T) {
	for _, s := range storms {
		t.Run(s.name, func(t *testing.T) {
			eachTrap(t, func(t *testing.T, trap Trap) { s.underBreakpoints(t, trap) })
		})
	}
}

func (s *storm) underBreakpoints(t *testing.T, trap Trap) {
	want, state := s.start(t).Finish()
	if !state.Success() {
		t.Fatalf("alone: %v, %s", state, want)
	}
	exe := ptest.BuildC(t, s.src, strings.Fields(s.flags)...)
	c, out := run(t, &Options{Stop: []notify.Point{notify.Create}, Trap: trap}, append([]string{exe}, s.argv(t)...)...)
	hits := 0
	for _, name := range hot {
		if _, err := c.BreakSymbol(bg, "", name, 0, func(*Hit) { hits++ }); err != nil {
			t.Error(err)
		}
	}
	end := c.Bus().Subscribe()
	defer end.Close()
	if err := c.Continue(bg); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if e := await(t, end); e.Kind != notify.Undead || !e.Exited || e.Code != 0 {
		t.Errorf("ended: %+v", e)
	}
	if got := <-out; got != want {
		t.Errorf("%d hits: printed\n%swant\n%s", hits, got, want)
	}
	if hits == 0 {
		t.Error("no hits")
	}
}

// hot are functions that the storms call all the time.
var hot = []string{"write", "getpid", "fork", "vfork", "_exit", "execve", "in_vfork", "shared", "pthread_create", "clock_gettime", "sigaction"}
