package control

import (
	"runtime"
	"time"
)

// spinFor bounds the polling before a blocking wait. On a virtual machine that is
// otherwise idle it takes a stopped thread this long to run again on its processor.
const spinFor = 200 * time.Microsecond

// spinner decides whether to poll for the next report before sleeping for it. After
// a breakpoint hit the next one is often only microseconds away, and polling for it
// spares the wake-up of this thread, which is most of what a hit costs. It is never
// worth while on one processor, where it keeps the target from running, and it backs
// off when polling has been in vain.
type spinner struct {
	credit int
	off    bool
}

// maxSpinCredit bounds how many vain polls in a row are made.
const maxSpinCredit = 8

func (s *spinner) init() { s.off = runtime.NumCPU() < 2 }

// earn is called for an event that makes another soon likely.
func (s *spinner) earn() {
	if s.credit == 0 {
		s.credit = 1
	}
}

func (s *spinner) worthwhile() bool { return s.credit > 0 && !s.off }
func (s *spinner) hit()             { s.credit = min(s.credit+1, maxSpinCredit) }
func (s *spinner) miss()            { s.credit /= 2 }
