package ptest

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Storm is a program that does one thing as fast as it can, and checks itself whether that was done
// right. It ends after a number of rounds, which take a fraction of a second.
type Storm struct {
	Name string
	argv string // the source, and arguments, the last of which is the number of rounds
}

// Storms are the programs for tests of a tool that its targets must not notice.
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
	// The calls that wait for children are left out. An ignored SIGCHLD is queued for a traced process
	// all the same, and wakes a thread. If another thread takes the signal, the first thread's call
	// returns EINTR without any stop.
	{"blocking calls", "blockers.c -x wait -n 30"},
}

var known sync.Map // command line of a storm: what it prints

// Alone builds the storm. It returns its arguments, and what it prints when it runs without a tool. It runs once for
// each test binary.
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

// Weather calls round until the sum of its results is enough. Under make torture it also goes on for at
// least ten seconds. Each call returns how much it has done.
func Weather(enough int, round func() (done int)) (sum int) {
	for began := time.Now(); sum < enough || Torture() && time.Since(began) < 10*time.Second; {
		sum += round()
	}
	return sum
}

// Visit calls once again and again until the target has ended. once runs a tool that grabs and releases
// the target, and returns the tool's exit status and complaint. The tool may be refused when the target
// has begun to end; its complaint then begins with refusal. It must not be refused before: then it could
// grab the target later.
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
