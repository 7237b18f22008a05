package tracee

import (
	"runtime"
	"time"

	"ptools/internal/ptrace"
)

// spinFor bounds the polling before a blocking wait. On a virtual machine that is
// otherwise idle it takes a stopped thread this long to run again on its processor.
const spinFor = 200 * time.Microsecond

// Spinner decides whether to poll for the next report before sleeping for it. After
// a breakpoint hit the next one is often only microseconds away, and polling for it
// spares the wake-up of this thread, which is most of what a hit costs. It is never
// worth while on one processor, where it keeps the target from running, and it backs
// off when polling has been in vain.
type Spinner struct {
	credit int
	off    bool
	last   time.Time // when a thread hit
	often  bool      // and the one before that was a moment earlier
}

// maxSpinCredit bounds how many vain polls in a row are made.
const maxSpinCredit = 8

func (s *Spinner) init() { s.off = runtime.NumCPU() < 2 }

// Earn is called at each hit. One that comes soon after another makes the next one likely
// to.
func (s *Spinner) Earn() {
	now := time.Now()
	s.often = now.Sub(s.last) < 2*spinFor
	s.last = now
	if s.often {
		s.Expect()
	}
}

// Expect is called when a report is sure to come soon.
func (s *Spinner) Expect() { s.credit = max(s.credit, 1) }

func (s *Spinner) worthwhile() bool { return s.credit > 0 && !s.off }
func (s *Spinner) hit()             { s.credit = min(s.credit+1, maxSpinCredit) }
func (s *Spinner) miss()            { s.credit /= 2 }

// spinForReport polls for the next report.
func (r *Tracer) spinForReport() (ptrace.Stop, error) {
	for start := time.Now(); ; {
		s, err := r.Reports.wait(false)
		if err != nil || s.Kind != ptrace.KindNone {
			r.Spin.hit()
			return s, err
		}
		if r.Line.Queued() {
			return s, nil
		}
		if time.Since(start) > spinFor {
			r.Spin.miss()
			return s, nil
		}
	}
}
