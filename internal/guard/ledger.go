package guard

import (
	"errors"
	"io"
)

// memory is the memory of a target, at its own addresses.
type memory interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// A ledger is what the guard knows: the bytes of ours in each address space.
type ledger map[uint32]*space

type space struct {
	mem     memory
	patches map[uint64]patch
}

var errMessage = errors.New("guard: message of no known form")

// apply notes one message; mem comes with opOpen, and is closed with the space.
func (l ledger) apply(m *message, mem memory) error {
	s := l[m.id]
	switch {
	case m.op == opOpen && s == nil && mem != nil:
		l[m.id] = &space{mem: mem, patches: make(map[uint64]patch)}
		return nil
	case m.op == opOpen || s == nil:
		return errMessage
	case m.op == opClose:
		delete(l, m.id)
		return s.mem.Close()
	case m.op == opReplace:
		s.forget(m.addr, m.n)
	}
	for _, p := range m.patches {
		s.patches[p.addr] = p
	}
	return nil
}

// forget drops the patches in [addr, addr+n).
func (s *space) forget(addr, n uint64) {
	if n > uint64(len(s.patches)) {
		for a := range s.patches {
			if a-addr < n {
				delete(s.patches, a)
			}
		}
		return
	}
	for i := range n {
		delete(s.patches, addr+i)
	}
}

// lift lifts what is left in every address space.
func (l ledger) lift() {
	for _, s := range l {
		s.lift()
	}
}

// lift writes the original bytes back wherever ours stand. One byte at a time: threads run through
// the text meanwhile, and may write to what lies between.
func (s *space) lift() {
	for addr, p := range s.patches {
		var b [1]byte
		if n, _ := s.mem.ReadAt(b[:], int64(addr)); n == 1 && b[0] == p.ours {
			b[0] = p.orig
			_, _ = s.mem.WriteAt(b[:], int64(addr)) // the text is gone if it fails
		}
	}
}
