package ptest

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Storm is a program that does one thing as hard as it can, and finds out itself whether it was done
// right. It ends after a number of rounds, which take it a fraction of a second.
type Storm struct {
	Name string
	argv string // the source, and arguments, the last of which is the number of rounds
}

// Storms are what a tool is tried on that must not be noticed.
var Storms = []Storm{
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
	// Without the calls that wait for children: a SIGCHLD that is ignored is queued for a traced
	// process all the same and wakes a thread, and if another thread takes it the first returns
	// EINTR without any stop.
	{"blocking calls", "blockers.c -x wait -n 30"},
}

var known sync.Map // command line of a storm: what it prints

// Alone builds the storm, and returns its arguments and what it prints when it runs without a tool, which it does once for a test binary.
func (s Storm) Alone(t testing.TB) (argv []string, out string) {
	t.Helper()
	argv = strings.Fields(s.argv)
	argv[0] = BuildC(t, argv[0])
	if n, err := strconv.Atoi(argv[len(argv)-1]); err == nil {
		argv[len(argv)-1] = strconv.Itoa(Rounds(n/4, n, n))
	}
	key := strings.Join(argv, " ")
	if out, ok := known.Load(key); ok {
		return argv, out.(string)
	}
	out, state := Start(t, argv...).Finish()
	if !state.Success() {
		t.Fatalf("alone: %v, printed %q", state, out)
	}
	known.Store(key, out)
	return argv, out
}

// Weather calls round until it has been called often enough, or, under make torture, for ten seconds
// and until enough says so. Each call returns how much it has done.
func Weather(enough int, round func() (done int)) (sum int) {
	for began := time.Now(); sum < enough || Torture() && time.Since(began) < 10*time.Second; {
		sum += round()
	}
	return sum
}

// Visit calls once again and again until the target has ended: a tool that grabs it and lets it go,
// whose exit status and complaint once returns. The tool may be refused when the target has begun to
// end, which begins its complaint with refusal, but not before: then it could grab it later.
func (g *Target) Visit(refusal string, once func(round int) (status int, complaint string)) (visited int) {
	g.t.Helper()
	refused := ""
	for !g.gone() {
		switch status, complaint := once(visited); {
		case status == 0 && complaint == "" && refused == "":
			visited++
		case status == 1 && strings.HasPrefix(complaint, refusal):
			refused = complaint
		default:
			g.t.Errorf("visit %d: exit status %d, %q after %q", visited, status, complaint, refused)
			return visited
		}
		if by := g.TracerPID(); by != 0 {
			g.t.Errorf("visit %d: still traced by %d", visited, by)
		}
	}
	return visited
}
