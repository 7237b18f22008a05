package calls

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
)

// CallReports says which calls are reported one by one, and what of them.
type CallReports = perfevent.CallReports

// A Call is a call that was reported.
type Call struct {
	*Target
	TID int
	PID int // of the process, or of a child of it
	// Goroutine is its number; 0: not known, or none.
	Goroutine uint64
	Length    time.Duration
	// CPU is how much of Length its thread was on processors; less than 0: not known, as of a call of Go, which may move between threads.
	CPU    time.Duration
	End    time.Time
	Begun  bool   // its end is not seen: it has only begun, at End
	Tail   bool   // it ended by a jump to another function, which returns in its place
	Args   string // "n=1, s=\"text\"": empty unless values were asked for
	Result string // "?" if it is not known
	// Arguments and Results are the same one by one.
	Arguments, Results []Value
	Stack              []Frame
	Cut                string // why the stack is not whole
}

// Reports calls tell with the calls that were reported since it was called last.
func (w *Watch) Reports(tell func(*Call)) { w.ReportsUpTo(math.MaxInt, tell) }

// ReportsUpTo is Reports for at most so many calls. Those that are not read, and find no room in the kernel any more, are counted as
// unseen.
func (w *Watch) ReportsUpTo(most int, tell func(*Call)) {
	now, here := time.Now(), perfevent.Now()
	w.kernel.Reports(most, func(r *perfevent.CallReport) {
		if r.Function >= len(w.numbered) {
			return
		}
		c := &Call{Target: w.numbered[r.Function], TID: r.TID, PID: cmp.Or(r.PID, w.PID), Length: r.Length, CPU: r.CPU, End: now.Add(r.End - here)}
		if v := r.Values; v != nil {
			switch {
			case w.spec.By.isPath():
				w.tree.add(w, c, r)
				return
			case w.spec.By.Stack():
				w.groups.add(w, c, r)
				return
			}
			c.Begun, c.Tail, c.Goroutine = v.Begun(), v.Tail(), v.GoroutineNumber()
			if c.layout != nil && w.spec.Values {
				c.describe(v, constants{w.space})
			}
			if w.spec.Stack {
				c.Stack, c.Cut = w.stack(r)
			}
		}
		tell(c)
	})
}

// describe sets the texts of the values of a call.
func (c *Call) describe(v *perfevent.CallValues, fixed constants) {
	f := formatter{v, c.types, fixed}
	c.Arguments = f.all(c.layout.args)
	c.Args = argsText(c.Arguments)
	switch {
	case len(c.layout.results) == 0 || c.Begun:
	case c.Tail:
		c.Result = unknown
	default:
		c.Results = f.all(c.layout.results)
		c.Result = resultsText(c.Results)
	}
}

// describe finds the layouts of functions whose values are asked for, or that have a condition.
func (s *Selection) describe(spec *Spec) error {
	if spec.By != nil && spec.By.kind == byProcess && !spec.Follow {
		return errOneProcess
	}
	if of := spec.By != nil && spec.By.kind == byGoroutine; of || spec.Each || spec.Least > 0 {
		if err := s.findNumbers(); err != nil && of {
			return fmt.Errorf("by goroutine: %w", err)
		}
		if !of && slices.ContainsFunc(s.Targets, func(t Target) bool { return t.goid != 0 }) {
			spec.Caller = perfevent.ByGoroutine
		}
	}
	for i := range s.Targets {
		t := &s.Targets[i]
		if t.Err != nil {
			continue
		}
		if spec.Arguments() || t.conditional() {
			t.layout = layoutOf(&t.Found, elfsym.SignatureOf(t.file, t.Start))
		}
		if _, err := t.condition(); err != nil {
			return err
		}
		var err error
		if spec.By != nil && spec.By.kind == byGoroutine {
			t.by = t.byGoroutine()
		} else if spec.By.inKernel() {
			if t.by, err = t.layout.key(spec.By); err != nil {
				return &ConditionError{"--by", t.Name, err}
			}
		}
		if spec.Sum != nil {
			if t.sum, err = t.layout.expression(spec.Sum); err != nil {
				return &ConditionError{"--sum", t.Name, err}
			}
		}
	}
	return nil
}

var errOneProcess = errors.New("by process: the calls of one process are counted; give thread, or an argument of this name by its number, as $1")

// conditional reports whether not all calls are counted.
func (t *Target) conditional() bool {
	for _, c := range t.conditions {
		if c == nil {
			return false
		}
	}
	return len(t.conditions) > 0
}

// A ConditionError is an error in the condition of a function, or in another thing that names its arguments.
type ConditionError struct {
	What     string
	Function string
	Err      error
}

func (e *ConditionError) Error() string {
	return fmt.Sprintf("%s of %s: %v", e.What, e.Function, e.Err)
}

func (e *ConditionError) Unwrap() error { return e.Err }

// condition returns the condition of the calls that are counted, nil for all. Any of several is enough.
func (t *Target) condition() (*perfevent.Condition, error) {
	if !t.conditional() {
		return nil, nil
	}
	var all *perfevent.Condition
	for _, c := range t.conditions {
		k, err := t.layout.resolve(c)
		if err != nil {
			return nil, &ConditionError{"condition", t.Name, err}
		}
		if all != nil {
			k = &perfevent.Condition{Op: perfevent.Or, A: all, B: k}
		}
		all = k
	}
	return all, nil
}
