package profile

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Goroutines have cells of their own, in which only Values.Goroutines counts. Goroutines with the same labels are one member of
// the profile, like a thread.

// GoroutineRounds says how goroutines were sampled.
type GoroutineRounds struct {
	Rounds     int64         `json:"rounds"` // in which all goroutines were read
	Took       time.Duration `json:"took_ns"`
	Goroutines int64         `json:"goroutines"`    // of all rounds
	Unread     int64         `json:"unread"`        // those that could not be read; they are no Goroutines
	Unsettled  int64         `json:"unsettled"`     // those of Goroutines that changed whenever they were read
	Why        string        `json:"why,omitempty"` // why there are no more rounds
}

// DocGoroutines is how goroutines were sampled, as json has it.
type DocGoroutines GoroutineRounds

// Add adds the rounds of another sampling.
func (g *GoroutineRounds) Add(o GoroutineRounds) {
	g.Rounds += o.Rounds
	g.Took += o.Took
	g.Goroutines += o.Goroutines
	g.Unread += o.Unread
	g.Unsettled += o.Unsettled
	if o.Why != "" {
		g.Why = o.Why
	}
}

// Since returns the rounds since an earlier moment.
func (g GoroutineRounds) Since(o GoroutineRounds) GoroutineRounds {
	return GoroutineRounds{g.Rounds - o.Rounds, g.Took - o.Took, g.Goroutines - o.Goroutines, g.Unread - o.Unread, g.Unsettled - o.Unsettled, g.Why}
}

// write says it in a line for users.
func (g *GoroutineRounds) write(w io.Writer) {
	if g.Took > 0 {
		fmt.Fprintf(w, "goroutines: %.1f on average, read %s at random moments in %.3f s", float64(g.Goroutines)/float64(g.Rounds),
			plural(int(g.Rounds), "time", "times"), g.Took.Seconds())
		if lost := g.Unread + g.Unsettled; lost > 0 {
			fmt.Fprintf(w, ", %.2f %% not read (%d, of which %d changed all the while)", percent(lost, g.Goroutines+g.Unread), lost, g.Unsettled)
		}
		fmt.Fprintln(w)
	}
	if g.Why != "" {
		fmt.Fprintf(w, "goroutines: %s\n", Clean(g.Why))
	}
}

// A goroutineSet is the labels of some goroutines, keys and values in turn behind zero bytes. It is empty for a thread.
type goroutineSet string

const unlabelled goroutineSet = "\x00"

// NumberLabel is the label of goroutines that are told apart by their numbers. It is the first one.
const NumberLabel = "goroutine"

// number returns the number of a goroutine that is told from others, or an empty string.
func (s goroutineSet) number() string {
	if pairs := s.pairs(); len(pairs) > 1 && pairs[0] == NumberLabel {
		return pairs[1]
	}
	return ""
}

// GoroutineSet returns the member that stands for the goroutines of a process with these labels, keys and values in turn.
func (p *members) GoroutineSet(pid int, labels []string) ThreadID {
	set := unlabelled
	for i, l := range labels {
		if i > 0 {
			set += "\x00"
		}
		set += goroutineSet(Clean(l))
	}
	return p.threadOf(threadKey{pid: pid, set: set}, set.String())
}

// pairs returns keys and values in turn.
func (s goroutineSet) pairs() []string {
	if s == unlabelled || s == "" {
		return nil
	}
	return strings.Split(string(s[1:]), "\x00")
}

// String is the name of the member for users.
func (s goroutineSet) String() string {
	var b strings.Builder
	b.WriteString("goroutines")
	for i, text := range s.pairs() {
		b.WriteByte(" ="[i%2])
		b.WriteString(text)
	}
	return b.String()
}

func (s goroutineSet) labels() map[string]string {
	labels := make(map[string]string)
	pairs := s.pairs()
	for i := 0; i+1 < len(pairs); i += 2 {
		labels[pairs[i]] = pairs[i+1]
	}
	return labels
}

func (s goroutineSet) pprofLabels() map[string][]string {
	labels := make(map[string][]string)
	for key, value := range s.labels() {
		labels[key] = []string{value}
	}
	return labels
}

// any reports whether goroutines were sampled.
func (g *GoroutineRounds) any() bool { return g.Rounds > 0 }

// StretchGoroutines multiplies the time of the goroutines of a space, of which some was not covered by rounds.
func (s *counts) StretchGoroutines(by float64) {
	for i := range s.cells {
		s.cells[i].Goroutines = int64(by * float64(s.cells[i].Goroutines))
	}
}
