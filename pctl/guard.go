package pctl

import (
	"sync/atomic"

	"ptools/internal/guard"
)

// guarded is the guard of all Sessions, nil without one.
var guarded atomic.Pointer[guard.Guard]

// Guard has breakpoints taken out of the text of controlled processes when this
// program is killed, ends by a panic or in any other way that leaves no time for
// it; see the package comment for what that cannot do. It is to be called before
// a process is grabbed or created, first thing in main as a rule, and may be called
// again.
//
// The guard is a small second process, a fork of this one, from the first
// breakpoint to the release of the last process. It appears in no wait of this
// program for its children, and has its descriptors: should this program be
// killed, they are closed when the guard has done its work: breakpoints are out of the
// text in well under a millisecond, and children that were being born are looked for some 20 ms longer.
func Guard() { guarded.CompareAndSwap(nil, new(guard.Guard)) }
