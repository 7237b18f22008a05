package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ptools/internal/calls"
	"ptools/internal/clean"
)

// limit is how much the probes may take of a running process without --force, in processors.
const limit = .2

// oftenEvery is the time between two looks for functions whose probes were lifted.
const oftenEvery = 100 * time.Millisecond

// measure begins to measure what probes cost on this machine. The function that it returns waits for that, and puts it into the spec.
func (s *session) measure(spec *calls.Spec) func() error {
	if s.pid != 0 && !s.force {
		spec.Limit = limit
	}
	which := spec.CallReports
	done := make(chan struct{})
	var cost calls.Cost
	var err error
	go func() { // ends by itself; the returned function waits for it
		defer close(done)
		cost, err = calls.MeasureCost(which)
	}()
	return sync.OnceValue(func() error {
		<-done
		spec.Cost = cost
		return err
	})
}

// tellUnmeasured says that the cost of probes is not known.
func (s *session) tellUnmeasured(spec *calls.Spec, err error) {
	if err != nil {
		s.say("what a probe costs here cannot be measured (%v): taken for %v where the kernel emulates the instruction, and %v where it steps",
			err, spec.Cost.Emulated, spec.Cost.Stepped)
	}
	if spec.Limit > 0 && !s.watch.Limited() {
		s.say("what the probes take of the process is not limited: that needs uprobe_multi links (Linux 6.6)")
	}
}

// tellOften names the functions that are called too often to be timed, or to be counted, since it was called last. The time is that since the
// counting began, empty before. With an error nothing is counted any more.
func (s *session) tellOften(after string) error {
	changed, err := s.watch.Changed()
	if len(changed) == 0 {
		return err
	}
	var texts, what []string
	levels := map[calls.Level]uint64{}
	for i, t := range changed {
		c := s.watch.Coverage(t)
		if levels[c.Level]++; i < mostNamed {
			texts = append(texts, fmt.Sprintf("%s, %s calls/s", t.Name, rateText(c.Rate)))
		}
	}
	if len(changed) > mostNamed {
		texts = append(texts, "…")
	}
	if n := levels[calls.Counted]; n > 0 {
		what = append(what, counted(n, "function is", "functions are")+" counted and not timed")
	}
	if n := levels[calls.Off]; n > 0 {
		what = append(what, counted(n, "function is", "functions are")+" not counted")
	}
	why := fmt.Sprintf("after %s the probes took more than %.0f%% of a processor", after, 100*limit)
	if after == "" {
		why = fmt.Sprintf("to time all would take at least %.0f%% of a processor, and the limit is %.0f%%", 100*s.watch.Expected(), 100*limit)
	}
	s.say("%s: %s (%s); --force times all", why, strings.Join(what, ", "), strings.Join(texts, "; "))
	return err
}

// rateText is a number of calls per second that was measured while probes slowed the target: it is more without them.
func rateText(perSecond float64) string { return fmt.Sprintf(">%.0f", perSecond) }

// whole reports whether the ends of all calls were seen.
func (r *row) whole() bool { return r.target.Plan.Whole == nil && r.coverage.Level == calls.Timed }

// partly says for how long calls were counted or timed, if not to the end.
func (r *row) partly() string {
	switch c := &r.coverage; {
	case c.Level == calls.Off && c.Timed == c.Counted:
		return fmt.Sprintf(" (counted for the first %s)", duration(c.Counted))
	case c.Level == calls.Off:
		return fmt.Sprintf(" (timed for the first %s, counted for %s)", duration(c.Timed), duration(c.Counted))
	case c.Level == calls.Counted && c.Timed > 0:
		return fmt.Sprintf(" (timed for the first %s)", duration(c.Timed))
	}
	return ""
}

// counting returns how long the calls of a row were counted. A table of one second has them of that second.
func (r *row) counting(length time.Duration, second bool) time.Duration {
	if r.coverage.Level == calls.Off && !second {
		return r.coverage.Counted
	}
	return length
}

// taken says what the probes took of the target, if that was much.
func taken(w *calls.Watch, length time.Duration) string {
	share := w.Taken().Seconds() / max(length.Seconds(), 1e-9)
	if share <= limit {
		return ""
	}
	return fmt.Sprintf("; the probes took some %.0f%% of a processor", 100*share)
}

// liftedOf returns the functions that were not counted at all.
func liftedOf(w *calls.Watch) (lifted []*calls.Target) {
	for _, t := range w.Lifted() {
		if w.Coverage(t).Counted == 0 {
			lifted = append(lifted, t)
		}
	}
	return lifted
}

// printLifted prints the functions that were not counted, with how often they were called when they were looked at.
func (s *session) printLifted(lifted []*calls.Target) error {
	w := bufio.NewWriter(s.stdout)
	for _, t := range lifted {
		fmt.Fprintf(w, "%10s %9s %8s %8s %8s %8s %8s  %s (not counted: called too often)\n", "-", rateText(s.watch.Coverage(t).Rate), "-", "-", "-", "-", "-",
			clean.Text(t.Name))
	}
	return w.Flush()
}

// jsonCoverage says how much of a function's calls was seen, if not all.
type jsonCoverage struct {
	TimedFor   *int64   `json:"timed_ns,omitempty"`
	CountedFor *int64   `json:"counted_ns,omitempty"`
	Rate       *float64 `json:"calls_per_second,omitempty"` // when it was found to be called too often
}

func coverageJSON(c *calls.Coverage) (j jsonCoverage) {
	timed, counted, rate := int64(c.Timed), int64(c.Counted), c.Rate
	if c.Level > calls.Timed {
		j.TimedFor, j.Rate = &timed, &rate
	}
	if c.Level == calls.Off {
		j.CountedFor = &counted
	}
	return j
}

// printLiftedJSON is printLifted in JSON: the functions have no calls.
func (s *session) printLiftedJSON(most int) error {
	w := bufio.NewWriter(s.stdout)
	var errs []error
	lifted := liftedOf(s.watch)
	if s.number > 0 {
		lifted = lifted[:min(len(lifted), most)]
	}
	for _, t := range lifted {
		c := s.watch.Coverage(t)
		errs = append(errs, writeJSON(w, struct {
			Function string `json:"function"`
			Raw      string `json:"raw"`
			Object   string `json:"object"`
			jsonCoverage
		}{t.Name, t.Raw, t.Object, coverageJSON(&c)}))
	}
	return errors.Join(append(errs, w.Flush())...)
}
