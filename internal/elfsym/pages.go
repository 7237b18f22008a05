package elfsym

import "sync/atomic"

// pageLen is the number of neighbouring values for which room is made when the first of them is
// needed.
const pageLen = 256

// pages keeps a value for each of many numbers, few of which are used. It takes no lock: if two
// values are made at the same time, one stays.
type pages[T any] []atomic.Pointer[[pageLen]atomic.Pointer[T]]

func newPages[T any](n int) pages[T] { return make(pages[T], (n+pageLen-1)/pageLen) }

// slot returns the place of the value for i.
func (p pages[T]) slot(i int) *atomic.Pointer[T] {
	page := &p[i/pageLen]
	if page.Load() == nil {
		page.CompareAndSwap(nil, new([pageLen]atomic.Pointer[T]))
	}
	return &page.Load()[i%pageLen]
}
