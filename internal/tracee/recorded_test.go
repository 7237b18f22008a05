package tracee_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/internal/tracee"
	"ptools/pctl/control"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// TestTraceReplays: the trace of a real process replays through the state machine, so no state changes unrecorded. The
// process's threads make threads, hit breakpoints and get signals while they are stopped and resumed.
func TestTraceReplays(t *testing.T) {
	for _, s := range []struct {
		name, src, args string
		rounds          int // in a short run
	}{
		{"threads", "threadstorm.c", "-t 4 -n", 400},
		{"spawn", "spawnstorm.c", "-t 3 -n", 400},
		{"exec-thread", "execstorm.c", "-T -t 2 -n", 400},
		{"signals", "sigstorm.c", "-n", 100},
	} {
		t.Run(s.name, func(t *testing.T) {
			n := ptest.Rounds(s.rounds/4, s.rounds, s.rounds*5)
			argv := append([]string{ptest.BuildC(t, s.src)}, strings.Fields(s.args)...)
			argv = append(argv, strconv.Itoa(n))
			// A process may end before it has been disturbed: its trace replays too, but another is needed.
			ptest.Weather(1, func() (disturbed int) {
				g := ptest.StartWith(t, &ptest.Options{Foreign: true}, argv...)
				trace := tracee.NewTrace(1<<20, nil)
				whole := disturb(t, g.PID, trace)
				g.Finish()
				if replay(t, trace) && whole {
					disturbed = 1
				}
				return disturbed
			})
		})
	}
}

// replay replays a trace, and returns whether anything was stopped in it.
func replay(t *testing.T, trace *tracee.Trace) (stopped bool) {
	var text strings.Builder
	trace.WriteTo(&text)
	if err := tracee.ReplayTrace(strings.NewReader(text.String())); err != nil {
		lines, n := strings.Split(text.String(), "\n"), 0
		fmt.Sscanf(err.Error(), "line %d", &n)
		t.Errorf("%v\n%s", err, strings.Join(lines[max(0, n-50):n], "\n"))
	}
	t.Logf("%d bytes", text.Len())
	return strings.Contains(text.String(), " interrupt ")
}

// disturb controls a process with breakpoints, pauses and looks, until it ends or has been disturbed enough. It
// returns false if the process ended before all breakpoints were set.
func disturb(t *testing.T, pid int, trace *tracee.Trace) bool {
	c, err := control.Attach(t.Context(), pid, &control.Options{Trace: trace, Trap: control.TrapInt3})
	if errors.Is(err, control.ErrEnded) || errors.Is(err, syscall.ESRCH) {
		return false
	} else if err != nil {
		t.Fatal(err)
	}
	whole := true
	for _, name := range []string{"write", "getpid", "_exit", "execve", "pthread_create", "sigaction"} {
		if _, err := c.BreakSymbol(t.Context(), "", name, 0, func(*control.Hit) {}); errors.Is(err, control.ErrEnded) {
			whole = false
		} else if err != nil {
			t.Error(err)
		}
	}
	for range 200 { // an error is the end of the process, and control with it
		c.Pause(t.Context(), func(s *control.Stopped) error {
			for _, th := range s.Threads() {
				th.Regs()
			}
			return nil
		})
		c.LookIf(t.Context(), c.Threads(), nil, nil, func(int, *ptrace.Regs) {})
	}
	if err := c.Release(t.Context(), control.ModeRun); err != nil {
		t.Error(err)
	}
	c.Space().Close()
	return whole
}
