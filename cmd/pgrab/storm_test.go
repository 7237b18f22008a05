package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// storms are targets that do one thing as hard as they can, and find out
// themselves whether it was done right. They end after a number of rounds,
// which take them a fraction of a second.
var storms = []struct {
	name string
	argv string // the source, and arguments
}{
	{"threads", "threadstorm.c -t 4 -n 1500"},
	{"fork", "forkstorm.c -t 3 -n 120"},
	{"vfork", "vforkstorm.c -t 3 -n 150"},
	{"spawn", "spawnstorm.c -t 3 -n 80"},
	{"system", "spawnstorm.c -s -t 3 -n 40"},
	{"popen", "spawnstorm.c -o -t 3 -n 40"},
	{"clonevm", "clonevm.c -t 3 -n 1500"},
	{"exec", "execstorm.c -t 2 -n 100"},
	{"exec by a thread", "execstorm.c -T -t 2 -n 100"},
	{"signals", "sigstorm.c -n 500"},
	{"traps", "selftrap.c -n 5000"},
	{"leader gone", "leaderdead.c -t 2 -n 1500"},
	// Without the calls that wait for children: a SIGCHLD that is ignored is
	// queued for a traced process all the same and wakes a thread, and if
	// another thread takes it the first returns EINTR without any stop.
	{"blocking calls", "blockers.c -x wait -n 30"},
}

// visits are what a storm is exposed to, by turns.
var visits = [][]string{
	{"-q", "-s", "none", "-t", "0"},
	{"-q", "-s", "grab", "-H", "0", "-t", "0"},
	{"-q", "-w", "-s", "grab", "-H", "0", "-t", "0"},
}

// TestStorms: whatever a process is doing, it does not notice that it is
// grabbed, held and let go all the time: it prints what it prints alone, and
// ends so.
func TestStorms(t *testing.T) {
	for _, s := range storms {
		t.Run(s.name, func(t *testing.T) {
			argv := strings.Fields(s.argv)
			argv[0] = ptest.BuildC(t, argv[0])
			want, state := ptest.Start(t, argv...).Finish()
			if !state.Success() {
				t.Fatalf("alone: %v, printed %q", state, want)
			}
			began := time.Now()
			visited := 0
			for enough := ptest.Rounds(1, 6, 100); visited < enough ||
				ptest.Torture() && time.Since(began) < 10*time.Second; {
				g := ptest.Start(t, argv...)
				visited += visit(t, g)
				got, state := g.Finish()
				if got != want || !state.Success() || t.Failed() {
					t.Fatalf("after %d visits: %v, printed %q, alone %q", visited, state, got, want)
				}
			}
			t.Logf("%d visits", visited)
		})
	}
}

// visit grabs a target and lets it go until it has ended, and returns how
// often. The target may be refused when it has begun to end, but not before:
// then it could be grabbed later.
func visit(t *testing.T, g *ptest.Target) (visited int) {
	t.Helper()
	pid := strconv.Itoa(g.PID)
	refusal := ""
	for living(g) != 0 {
		args := append([]string{"-p", pid}, visits[visited%len(visits)]...)
		r := pgrab(t, nil, args...)
		switch {
		case r.status == 0 && r.stderr == "" && refusal == "":
			visited++
		case r.status == 1 && strings.HasPrefix(r.stderr, "pgrab: grab "+pid+": "):
			refusal = r.stderr
		default:
			t.Errorf("visit %d: pgrab %q: exit status %d, stderr %q after %q", visited, args, r.status, r.stderr, refusal)
			return visited
		}
		if by := g.TracerPID(); by != 0 {
			t.Errorf("visit %d: still traced by %d", visited, by)
		}
	}
	return visited
}
