package pctl

import (
	"sync/atomic"

	"ptools/internal/guard"
)

// guarded is the guard of all Sessions, nil without one.
var guarded atomic.Pointer[guard.Guard]

// Guard has breakpoints removed from the text of controlled processes if this
// program is killed, panics, or ends in any other way that leaves it no time to
// remove them. The package comment says what Guard cannot do. It must be called
// before a process is grabbed or created, usually first in main, and may be called
// again.
//
// The guard is a small second process, a fork of this one. It lives from the first breakpoint to the
// release of the last process. No wait of this program for its children returns it. It has the
// descriptors of this program. So if this program is killed, they are closed only when the guard has
// done its work. Breakpoints are out of the text in well under a millisecond. For some 20 ms more the
// guard looks for children that were being born.
func Guard() { guarded.CompareAndSwap(nil, new(guard.Guard)) }
