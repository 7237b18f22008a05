package elfsym

import (
	"errors"
	"math"
	"sync/atomic"
)

// errExcess is the error of a file whose tables ask for more work than its size explains.
var errExcess = errors.New("its tables refer to the same bytes too often: some names and lines are not read")

// An allowance bounds the sum of what is read of one table for a file, however often entries refer to the same bytes. What
// is beyond it is not read, and the file says so (Missing).
type allowance struct {
	left atomic.Int64
	over *atomic.Bool // of the file
}

// allow returns an allowance of a number of bytes for a file.
func allow(f *File, bytes uint64) *allowance {
	a := &allowance{over: &f.beyond}
	a.left.Store(int64(min(bytes, math.MaxInt64)))
	return a
}

// spend reports whether there is something left, and takes n bytes.
func (a *allowance) spend(n int) bool {
	if a == nil {
		return true
	}
	if a.left.Add(-int64(n)) < 0 {
		a.left.Store(-1)
		a.over.Store(true)
		return false
	}
	return true
}
