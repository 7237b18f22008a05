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
	if len(s.pids) > 0 && !s.force {
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
func (s *session) tellUnmeasured(w *calls.Watch, spec *calls.Spec, err error) {
	if err != nil {
		s.say("what a probe costs here cannot be measured (%v): taken for %v where the kernel emulates the instruction, and %v where it steps",
			err, spec.Cost.Emulated, spec.Cost.Stepped)
	}
	if spec.Limit > 0 && !w.Limited() {
		s.say("what the probes take of the process is not limited: that needs uprobe_multi links (Linux 6.6)")
	}
}

// tellOften names the functions that are called too often to be timed all the time, or to be counted, since it was called last, and those that are
// timed again. The time is that since the counting began, empty before. With an error nothing is counted any more.
func (s *session) tellOften(w *calls.Watch, after string) error {
	changed, err := w.Changed()
	if len(changed) == 0 {
		return err
	}
	var often, again []string
	levels := map[calls.Level]uint64{}
	for _, t := range changed {
		c := w.Coverage(t)
		if levels[c.Level]++; c.Level == calls.Timed {
			again = append(again, t.Name)
		} else {
			often = append(often, fmt.Sprintf("%s, %s calls/s", t.Name, rateText(c.Rate)))
		}
	}
	if len(again) > 0 {
		s.say("after %s: %s again, as calls have become fewer (%s)", after, counted(levels[calls.Timed], "function is timed", "functions are timed"), firstOf(again))
	}
	if len(often) == 0 {
		return err
	}
	var what []string
	for _, kind := range []struct {
		level calls.Level
		text  string
	}{{calls.Counted, " counted and not timed"}, {calls.Windowed, " counted and timed in short windows only"}, {calls.Off, " not counted"}} {
		if n := levels[kind.level]; n > 0 {
			what = append(what, counted(n, "function is", "functions are")+kind.text)
		}
	}
	why := fmt.Sprintf("after %s the probes took more than %.0f%% of a processor", after, 100*limit)
	if after == "" {
		why = fmt.Sprintf("to time all would take at least %.0f%% of a processor, and the limit is %.0f%%", 100*w.Expected(), 100*limit)
	}
	s.say("%s: %s (%s); --force times all", why, strings.Join(what, ", "), firstOf(often))
	return err
}

// firstOf joins the first texts.
func firstOf(texts []string) string {
	if len(texts) > mostNamed {
		texts = append(texts[:mostNamed:mostNamed], "…")
	}
	return strings.Join(texts, "; ")
}

// rateText is a number of calls per second that was measured while probes slowed the target: it is more without them.
func rateText(perSecond float64) string { return fmt.Sprintf(">%.0f", perSecond) }

// whole reports whether the ends of all calls were seen.
func (r *row) whole() bool { return r.target.Plan.Whole == nil && !r.coverage.Partly }

// partly says for how long calls were counted or timed, if not all the time.
func (r *row) partly(length time.Duration) string {
	c := &r.coverage
	// They end some milliseconds after the length was taken.
	timed, counted := fmt.Sprintf("timed for %s", duration(min(c.Timed, length))), fmt.Sprintf("counted for %s", duration(min(c.Counted, length)))
	switch {
	case !c.Partly || c.Level == calls.Counted && c.Timed == 0:
		return ""
	case c.Timed == c.Counted:
		return fmt.Sprintf(" (%s of %s)", counted, duration(length))
	case c.Level == calls.Windowed || c.Level == calls.Off:
		return fmt.Sprintf(" (%s and %s of %s)", timed, counted, duration(length))
	}
	return fmt.Sprintf(" (%s of %s)", timed, duration(length))
}

// counting returns how long the calls of a row were counted. A table of one second has them of that second.
func (r *row) counting(length time.Duration) time.Duration {
	if r.coverage.Partly {
		return r.coverage.Counted
	}
	return length
}

// rate returns the calls a second. Where they were counted in windows probes slowed the target: there are more without them.
func (r *row) rate(length time.Duration) string {
	text := rate(r.stats.Calls, r.counting(length))
	if r.coverage.Level == calls.Windowed {
		return ">" + text
	}
	return text
}

// taken says what the probes took of the targets, if that was much.
func taken(parts []*part, length time.Duration) string {
	share := 0.0
	for _, p := range parts {
		share += p.watch.Taken().Seconds() / max(length.Seconds(), 1e-9)
	}
	if share <= limit*float64(len(parts)) {
		return ""
	}
	return fmt.Sprintf("; the probes took some %.0f%% of a processor", 100*share)
}

// liftedOf returns the functions that were not counted because they are called too often. Of several processes all are named.
func liftedOf(parts []*part) (all []row) {
	for _, p := range parts {
		for _, t := range p.watch.Lifted() {
			all = append(all, row{target: t, coverage: p.watch.Coverage(t)})
		}
	}
	return all
}

// printLifted prints the functions that were not counted, with how often they were called when they were looked at.
func (s *session) printLifted(lifted []row) error {
	w := bufio.NewWriter(s.stdout)
	for _, r := range lifted {
		fmt.Fprintf(w, "%10s %9s %8s %8s %8s %8s %8s  %s (not counted: called too often)\n", "-", rateText(r.coverage.Rate), "-", "-", "-", "-", "-",
			clean.Text(r.target.Name))
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
	if timed, counted, rate := int64(c.Timed), int64(c.Counted), c.Rate; c.Partly {
		j = jsonCoverage{&timed, &counted, &rate}
	}
	return j
}

// printLiftedJSON is printLifted in JSON: the functions have no calls.
func (s *session) printLiftedJSON(most int) error {
	w := bufio.NewWriter(s.stdout)
	var errs []error
	lifted := liftedOf(s.parts)
	if s.number > 0 {
		lifted = lifted[:min(len(lifted), most)]
	}
	for i := range lifted {
		t, c := lifted[i].target, lifted[i].coverage
		errs = append(errs, writeJSON(w, struct {
			Function string `json:"function"`
			Raw      string `json:"raw"`
			Object   string `json:"object"`
			jsonCoverage
		}{t.Name, t.Raw, t.Object, coverageJSON(&c)}))
	}
	return errors.Join(append(errs, w.Flush())...)
}
