package sample

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/unwind"
)

// A division is how a thread divides its time, by the target's own account.
type division struct {
	thread string
	funcs  [3]string
	known  [3]float64 // the shares, if the page of truth has none
}

// TestShares compares shares with what the target itself knows of its time.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(*testing.T) string
		of    []division
	}{
		{"C", c("mix.c"), []division{{"mix", [3]string{"fifty", "thirty", "twenty"}, [3]float64{}}}},
		{"Go", golang("gomix.go"), []division{{"", [3]string{"main.fifty", "main.thirty", "main.twenty"}, [3]float64{.5, .3, .2}}}},
		{"two threads", c("mixthreads.c"), []division{
			{"left", [3]string{"alpha", "beta", "gamma_"}, [3]float64{.7, .2, .1}},
			{"right", [3]string{"alpha", "beta", "gamma_"}, [3]float64{.1, .2, .7}},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, use UseTimers) { shares(t, use, c.build(t), c.of) })
		})
	}
}

// spoiled is how wrong shares may be without timers, for functions that take some ten microseconds
// between system calls. mix makes such calls to read its CPU time, and stops come at the end of
// the calls (shortcalls.go).
const spoiled = 0.02

// allRan reports whether all threads that are compared have been seen running.
func allRan(t *testing.T, s *Sampler, of []division) bool {
	for _, d := range of {
		ran := 0.0
		for _, f := range d.funcs {
			ran += within(t, s, profile.CPU, d.thread, f)
		}
		if ran == 0 {
			return false
		}
	}
	return true
}

func shares(t *testing.T, use UseTimers, program string, of []division) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, program)
	g.Ready()
	g.AwaitWork(10)
	var before [3]uint64
	for i := range before {
		before[i] = truth.Share(i)
	}
	rounds := ptest.Rounds(300, 1000, 10_000)
	c := attach(t, g.PID, nil)
	s := sampleBy(t, use, int64(rounds), time.Second/999, nil, c)
	for tries := 1; tries < 10 && !allRan(t, s, of); tries++ { // a busy machine has given a thread no processor
		s = sampleBy(t, use, int64(rounds), time.Second/999, nil, c)
	}
	var spent [3]float64
	for i := range spent {
		spent[i] = float64(truth.Share(i) - before[i])
	}
	// A thread that is kept waiting for a processor is at one place for many rounds. Its
	// processor time is that of as many timer samples as fit in it.
	value, n := profile.Samples, float64(rounds)
	if use == TimersOnly {
		value, n = profile.CPU, min(n, float64(s.Profile().CPU/(time.Second/999))/float64(len(of)))
	} else if s.looks != nil {
		value, n = profile.CPU, min(n, float64(s.Cost().Ticks)/float64(len(of))) // a look meets one thread
	}
	for _, d := range of {
		want, slack := d.known, 0.0
		if want == ([3]float64{}) {
			want = spent
			if use == TimersOff {
				slack = spoiled
			}
		}
		got := [3]float64{}
		for i, f := range d.funcs {
			got[i] = within(t, s, value, d.thread, f)
		}
		normalize(&want)
		normalize(&got) // what is not theirs is not in the target's account
		for i, f := range d.funcs {
			// Five standard deviations of a binomial share.
			bound := 5*math.Sqrt(want[i]*(1-want[i])/n) + slack
			t.Logf("%s %s: %v share %.2f %%, truth %.2f %% (bound %.2f)", d.thread, f, value, 100*got[i], 100*want[i], 100*bound)
			if !(math.Abs(got[i]-want[i]) < bound) {
				t.Errorf("%s %s: share %.2f %%, truth %.2f %%", d.thread, f, 100*got[i], 100*want[i])
			}
		}
	}
	taken := int64(0)
	for _, n := range s.Cost().Ends {
		taken += n
	}
	whole := s.Cost().Ends[unwind.Whole]
	if s.looks != nil {
		whole += s.Cost().Ends[unwind.NoRegister] // the few that a look has found asleep
	}
	for line := range strings.Lines(folded(t, s, profile.Samples)) {
		if at := strings.IndexByte(line, ' '); line[0] == '[' && !strings.Contains(line[:at], ";") {
			whole += int64(number(line[at+1:])) // the thread moved whenever its stack was read: only its system call is known
		}
	}
	if (whole+1)*1000 < taken*995 { // one in some 10,000 ends in a word that is not code
		t.Errorf("%d of %d stacks are whole: %v\n%s", whole, taken, s.Cost().Ends, folded(t, s, profile.Samples))
	}
}

func normalize(v *[3]float64) {
	sum := v[0] + v[1] + v[2]
	for i := range v {
		v[i] /= sum
	}
}

// within returns how much a value counts for a function anywhere on the stacks of a thread,
// of all threads if that has no name.
func within(t *testing.T, s *Sampler, v profile.Value, thread, function string) (sum float64) {
	t.Helper()
	var b bytes.Buffer
	if err := s.Profile().Write(&b, profile.Folded, &profile.Options{Value: v, Threads: true}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		i := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, thread) && strings.Contains(line[:i]+";", ";"+function+";") {
			sum += number(line[i+1:])
		}
	}
	return sum
}
