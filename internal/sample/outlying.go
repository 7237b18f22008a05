package sample

import (
	"slices"

	"ptools/internal/perfevent"
)

// outlying knows which memory the stacks of threads need beyond their copies. A copy has the memory above the stack pointer. If a thread has
// changed stacks, as in a handler on an alternate stack or in C that Go has called, or if its frames are large, its callers are
// elsewhere: mostly in the same few pages as in its samples before. So these pages are copied together with the next sample. Memory
// that is read later, while the thread runs on, may have other callers, which look right.
type outlying struct {
	threads map[int]*needs
	watch   func(tid int, pages []uint64) // copies these pages from now on
}

// needs is the pages of one thread, and the sample of it that has last needed each.
type needs struct {
	samples int64
	pages   []uint64
	last    []int64
}

const (
	mostOutlying = 1024 // threads
	// neededFor is for how many samples a page is copied that none of them needs.
	neededFor = 64
)

// learn takes note of the pages that a sample of a thread has needed.
func (s *outlying) learn(tid int, needed []uint64) {
	t := s.threads[tid]
	if t == nil {
		if len(needed) == 0 {
			return
		}
		if s.threads == nil || len(s.threads) >= mostOutlying {
			s.threads = make(map[int]*needs)
		}
		t = new(needs)
		s.threads[tid] = t
	}
	if !t.learn(needed) {
		return
	}
	s.watch(tid, t.pages)
	if len(t.pages) == 0 {
		delete(s.threads, tid)
	}
}

// learn reports whether the pages are others than before.
func (t *needs) learn(needed []uint64) (changed bool) {
	t.samples++
	for _, addr := range needed {
		i := slices.Index(t.pages, addr)
		if i < 0 {
			if i = t.room(); i < 0 {
				break
			}
			t.pages[i], changed = addr, true
		}
		t.last[i] = t.samples
	}
	for i := len(t.pages) - 1; i >= 0; i-- {
		if t.samples-t.last[i] > neededFor {
			t.pages, t.last, changed = slices.Delete(t.pages, i, i+1), slices.Delete(t.last, i, i+1), true
		}
	}
	return changed
}

// room returns the place for another page: that of the page whose need is longest ago. It returns -1 if the present sample
// needs them all.
func (t *needs) room() int {
	if len(t.pages) < perfevent.MostPages {
		t.pages, t.last = append(t.pages, 0), append(t.last, 0)
		return len(t.pages) - 1
	}
	i := slices.Index(t.last, slices.Min(t.last))
	if t.last[i] == t.samples {
		return -1
	}
	return i
}
