package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// perfRecord is one event of perf script.
type perfRecord struct {
	at     time.Duration // since the start
	thread ThreadID
	stack  string // its lines, innermost first
	period int64
}

// perfStep is how much processor time a record stands for. It is constant because many tools count records, whatever
// their periods.
const perfStep = int64(time.Millisecond)

// writePerf writes the output of perf script: an event for each millisecond of processor time, each period of wall time
// or each sample. The periods add up to what the stacks count. The times of the events are those at which a thread was
// in the stack, as far as these are known.
func writePerf(p *Profile, w io.Writer, o *Options) error {
	event, step := "samples", int64(1)
	switch o.Value {
	case CPU:
		event, step = "cpu-clock", perfStep
	case Wall:
		event, step = "wall-clock", max(int64(p.Period), perfStep)
	case Ready:
		event, step = "sched-delay", perfStep
	}
	var records []perfRecord
	for _, s := range p.finish() {
		times := s.times(o.Value)
		for _, c := range s.ordered() {
			if n := c.of(o.Value); n > 0 {
				r := perfRecord{thread: c.thread, stack: s.perfStack(c.stack, p.threads[c.thread].pid, o)}
				records = r.divide(records, n, step, times[c.cellKey])
			}
		}
	}
	slices.SortStableFunc(records, func(a, b perfRecord) int { return cmp.Compare(a.at, b.at) })
	b := bufio.NewWriter(w)
	start := time.Duration(0)
	if !p.Start.IsZero() {
		start = time.Duration(p.Start.UnixNano())
	}
	for _, r := range records {
		t, at := p.threads[r.thread], start+r.at
		fmt.Fprintf(b, "%s %d/%d %d.%06d: %d %s:\n%s\n", t.name, t.pid, t.tid,
			at/time.Second, at%time.Second/time.Microsecond, r.period, event, r.stack)
	}
	return b.Flush()
}

// divide appends the records for a stack that counts n.
func (r perfRecord) divide(records []perfRecord, n, step int64, times []span) []perfRecord {
	all := time.Duration(0)
	for _, sp := range times {
		all += sp.to - sp.from
	}
	count := max((n+step/2)/step, 1)
	i, before := 0, time.Duration(0) // the span that a record is in, and the time of the spans before it
	for k := range count {
		r.period = n*(k+1)/count - n*k/count
		if at := time.Duration(float64(all) * float64(k) / float64(count)); all > 0 {
			for i < len(times)-1 && at >= before+times[i].to-times[i].from {
				before += times[i].to - times[i].from
				i++
			}
			r.at = times[i].from + at - before
		} else if len(times) > 0 {
			r.at = times[0].from
		}
		records = append(records, r)
	}
	return records
}

// perfStack returns a stack as perf script prints it: address, function and file of each level. For code in no file that
// is the file in which a JIT compiler lists its functions.
func (s *Space) perfStack(stack StackID, pid int, o *Options) string {
	var b strings.Builder
	var labels []label
	for _, l := range s.path(s.counted(stack, o), nil) {
		labels = s.locationLabels(l, o, labels[:0])
		for i, label := range labels {
			name, object, addr := label.name, cmp.Or(label.object, "[unknown]"), l.addr.PC
			if label.object == "" && l.code {
				object = fmt.Sprintf("/tmp/perf-%d.map", pid)
			}
			if i < len(l.lines) && s.profile.functions[l.lines[i].fn].place {
				name = unknown // the line has the address
			}
			if l.addr.Kind == note {
				object, addr = "[kernel.kallsyms]", ^uint64(0)
			}
			if i < len(l.lines) && l.lines[i].inlined {
				object = "inlined"
			}
			fmt.Fprintf(&b, "\t%16x %s (%s)\n", addr, name, object)
		}
	}
	return b.String()
}
