package goroutines

import (
	"bytes"

	"ptools/internal/elfsym"
	"ptools/internal/unwind"
)

// A span is the code of a function.
type span struct{ start, end uint64 }

func (s span) has(pc uint64) bool { return pc-s.start < s.end-s.start }

// waiters are the functions of the runtime in which goroutines wait for something that their first argument tells. From Go 1.18 on
// arguments come in registers, and each has a place above the return address. The runtime's traces show that these functions
// put it there before they wait.
type waiters struct {
	semaphore []span // semacquire1, which gets the address of a semaphore
	list      []span // notifyListWait, which gets that of a list
	poll      []span // runtime_pollWait, which gets that of a poll descriptor, and the letter r or w
}

func waitersOf(f *elfsym.File, bias uint64) (w waiters) {
	for name, s := range map[string]*[]span{
		"runtime.semacquire1": &w.semaphore, "sync.runtime_notifyListWait": &w.list, "internal/poll.runtime_pollWait": &w.poll,
	} {
		if found := f.ByName(name); len(found) == 1 {
			*s = []span{{found[0].Addr + bias, found[0].Addr + bias + found[0].Size}}
		}
	}
	return w
}

// mostTexts bounds the objects whose code is searched for each goroutine.
const mostTexts = 64

// add adds those of another object.
func (w *waiters) add(o *waiters) {
	if len(w.semaphore) < mostTexts {
		w.semaphore, w.list, w.poll = append(w.semaphore, o.semaphore...), append(w.list, o.list...), append(w.poll, o.poll...)
	}
}

// within reports whether code of one of the spans is at pc.
func within(spans []span, pc uint64) bool {
	for _, s := range spans {
		if s.has(pc) {
			return true
		}
	}
	return false
}

// mostInner is how many inner frames are searched for a function that waits.
const mostInner = 6

// argument returns the first two arguments of the function that a goroutine waits in, if one of waiters does.
func (w *waiters) argument(frames []unwind.Frame, sp uint64, stack []byte) (of *[]span, first, second uint64) {
	for i := 0; i < min(len(frames)-1, mostInner); i++ {
		for _, s := range []*[]span{&w.semaphore, &w.list, &w.poll} {
			at := frames[i+1].SP - sp // of what is above the return address
			if within(*s, frames[i].PC) && at < uint64(len(stack)) && uint64(len(stack))-at >= 16 {
				return s, le.Uint64(stack[at:]), le.Uint64(stack[at+8:])
			}
		}
	}
	return nil, 0, 0
}

// setWaits sets what a goroutine waits for by the arguments of its functions.
func (r *Reader) setWaits(e *reading, g *G, frames []unwind.Frame, sp uint64) {
	w := &r.r.waiters
	switch of, first, second := w.argument(frames, sp, e.stack); of {
	case nil:
	case &w.poll:
		e.poll, e.write = first, byte(second) == 'w'
	default:
		g.Semaphore = first
	}
}

// pollFD is where a poll descriptor has its descriptor (runtime.pollDesc).
const pollFD = 8

// polls finds the descriptors that goroutines wait for. Another one may have the poll descriptor by now: the result is right if the
// goroutine still stands there.
func (r *Reader) polls(each []reading, gs []*G) {
	var wishes, again []wish
	var whose []*G
	for i := range each {
		if e := &each[i]; e.poll != 0 && gs[i] != nil {
			wishes = append(wishes, wish{of: e, addr: e.poll + pollFD, size: 8})
			again = append(again, wish{of: e, addr: e.addr, size: r.r.layout.size()})
			whose = append(whose, gs[i])
		}
	}
	if len(wishes) == 0 {
		return
	}
	r.grant(wishes)
	r.grant(again)
	for i, w := range wishes {
		if e := w.of; len(w.b) == 8 && le.Uint64(w.b) < 1<<31 && bytes.Equal(again[i].b, e.before) {
			whose[i].Poll = Poll{Known: true, FD: int(le.Uint64(w.b)), Write: e.write}
		}
		w.of.poll = 0
	}
}
