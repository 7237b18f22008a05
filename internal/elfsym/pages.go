package elfsym

import "sync/atomic"

// pageLen is how many neighbours are made room for when the first of them is asked for.
const pageLen = 256

// pages keeps a value for each of many numbers, of which few are asked for. No lock is taken: of
// values that are made at the same time one stays.
type pages[T any] []atomic.Pointer[[pageLen]atomic.Pointer[T]]

func newPages[T any](n int) pages[T] { return make(pages[T], (n+pageLen-1)/pageLen) }

// slot returns where the value for i is kept.
func (p pages[T]) slot(i int) *atomic.Pointer[T] {
	page := &p[i/pageLen]
	if page.Load() == nil {
		page.CompareAndSwap(nil, new([pageLen]atomic.Pointer[T]))
	}
	return &page.Load()[i%pageLen]
}
