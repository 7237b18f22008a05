package goroutines

import (
	"errors"
	"fmt"
	"io"

	"ptools/internal/elfsym"
)

// Memory is the target's memory, which has to answer in bounded time.
type Memory interface {
	io.ReaderAt
	// ReadVec reads ranges, and cuts those that it can read only in part.
	ReadVec(dst [][]byte, addrs []uint64) (int, error)
}

// ErrNone is the error for a file without Go's runtime.
var ErrNone = errors.New("no Go program")

// ErrVersion is the error for a runtime of a version that is not known.
var ErrVersion = errors.New("goroutines of this version of Go cannot be read")

// ErrEarly is the error for a runtime that has no goroutine yet: the program has just begun. Its text is for users.
var ErrEarly = errors.New("the program has just begun: it has no goroutine yet")

// A Runtime is a Go runtime in a process. It never changes.
type Runtime struct {
	Path    string // of the object that it is in
	layout  layout
	allgs   uint64
	waiters waiters
}

// runtimeOf finds the runtime that the code of a file uses, which is mapped with a bias: its own, or that of the program that has opened it as
// a plugin. The error is ErrNone if it uses none.
func runtimeOf(f *elfsym.File, bias uint64, m Memory) (*Runtime, error) {
	const adder = "runtime.allgadd"
	table, ok := f.Go()
	if !ok || len(f.ByName(adder)) == 0 {
		return nil, ErrNone
	}
	refs := references(f, adder)
	lists := sliceRefs(refs)
	for i := range lists {
		lists[i] += bias
	}
	direct := len(lists)
	if direct == 0 {
		lists = tableRefs(refs, bias, m)
	}
	version := table.Version()
	for _, how := range []func() (layout, bool){
		func() (layout, bool) { return tabled(version) },
		func() (layout, bool) { return described(table) },
	} {
		l, ok := how()
		for i := 0; ok && i < len(lists); i++ {
			if r := (&Runtime{layout: l, allgs: lists[i], waiters: waitersOf(f, bias)}); r.holds(m) {
				return r, nil
			}
		}
	}
	switch {
	case direct == 0:
		return nil, fmt.Errorf("%w: the list of %s was not found", ErrVersion, named(version))
	case early(lists, m):
		return nil, ErrEarly
	}
	return nil, fmt.Errorf("%w: %s is not known, and debug information does not tell", ErrVersion, named(version))
}

// early reports whether the list of goroutines is empty.
func early(lists []uint64, m Memory) bool {
	for _, at := range lists {
		var b [24]byte
		if n, _ := m.ReadAt(b[:], int64(at)); n < len(b) || b != [24]byte{} {
			return false
		}
	}
	return true
}

func named(version string) string {
	if version == "" {
		return "its version"
	}
	return version
}

const (
	holdsOf    = 64 // goroutines that are looked at
	holdsTries = 8  // times that this is done, because they change
)

// holds reports whether the first goroutines are possible ones, with different numbers.
func (r *Runtime) holds(m Memory) bool {
	for range holdsTries {
		if r.once(m) {
			return true
		}
	}
	return false
}

func (r *Runtime) once(m Memory) bool {
	l, err := r.list(m)
	if err != nil {
		return false
	}
	addrs := make([]uint64, min(l.n, holdsOf))
	if l.read(m, addrs, 0) != nil {
		return false
	}
	bufs := buffers(len(addrs), int(r.layout.size()))
	m.ReadVec(bufs, addrs)
	ids := make(map[uint64]bool)
	for i, b := range bufs {
		g := raw{&r.layout, b}
		if uint64(len(b)) < r.layout.size() || !g.possible(addrs[i]) {
			return false
		}
		if id := g.word(r.layout.g.goid); g.live() {
			if ids[id] {
				return false
			}
			ids[id] = true
		}
	}
	return len(ids) > 0
}

// A list is allgs: the addresses of n g from addr on.
type list struct{ addr, n uint64 }

// maxGoroutines bounds how many goroutines are read.
const maxGoroutines = 2 << 20

// errNoList is why what is where the list should be is none.
var errNoList = errors.New("it is not one")

// list reads where the list is.
func (r *Runtime) list(m Memory) (list, error) {
	var b [24]byte
	if n, err := m.ReadAt(b[:], int64(r.allgs)); n < len(b) {
		return list{}, err
	}
	l := list{le.Uint64(b[:]), le.Uint64(b[8:])}
	if l.addr == 0 || l.addr%8 != 0 || l.n == 0 || l.n > le.Uint64(b[16:]) || l.n > maxGoroutines {
		return list{}, fmt.Errorf("%w: %x", errNoList, b)
	}
	return l, nil
}

// read reads the addresses from the i-th on.
func (l list) read(m Memory, addrs []uint64, i uint64) error {
	b := make([]byte, 8*len(addrs))
	if n, err := m.ReadAt(b, int64(l.addr+8*i)); n < len(b) {
		return err
	}
	for i := range addrs {
		addrs[i] = le.Uint64(b[8*i:])
	}
	return nil
}
