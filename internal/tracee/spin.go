package tracee

import (
	"runtime"
	"time"

	"ptools/internal/ptrace"
)

// spinFor bounds the polling before a blocking wait. On an otherwise idle virtual
// machine a stopped thread takes this long to run again on its processor.
const spinFor = 200 * time.Microsecond

// Spinner decides whether to poll for the next wait status before sleeping for it. After
// a breakpoint hit the next one is often only microseconds away. Polling for it saves the
// wake-up of this thread, which is most of the cost of a hit. On one processor polling is
// never worthwhile, because it keeps the target from running. The Spinner polls less when
// polling has been in vain.
type Spinner struct {
	credit int
	off    bool
	last   time.Time // of the last hit
	often  bool      // the hit before that was a moment earlier
}

// maxSpinCredit bounds the credit, and so how many vain polls are made in a row.
const maxSpinCredit = 8

func (s *Spinner) init() { s.off = runtime.NumCPU() < 2 }

// Earn is called at each hit. After two hits in quick succession the next one is likely to
// come as soon.
func (s *Spinner) Earn() {
	now := time.Now()
	s.often = now.Sub(s.last) < 2*spinFor
	s.last = now
	if s.often {
		s.Expect()
	}
}

// Expect is called when a wait status is sure to come soon.
func (s *Spinner) Expect() { s.credit = max(s.credit, 1) }

func (s *Spinner) worthwhile() bool { return s.credit > 0 && !s.off }
func (s *Spinner) hit()             { s.credit = min(s.credit+1, maxSpinCredit) }
func (s *Spinner) miss()            { s.credit /= 2 }

// spinForReport polls for the next wait status.
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
