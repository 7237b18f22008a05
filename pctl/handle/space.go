package handle

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/unwind"
)

// ownFiles is how many files a Space without a shared cache keeps open.
const ownFiles = 64

// A Space is the map of one process's address space. Any goroutine may call its
// methods. Methods that look something up see the map of the last Refresh, and
// take no lock once the object concerned has been opened.
//
// A Space does not notice by itself that the process maps something new. Its user
// calls Refresh at an event that says so, or when Find does not know a program
// counter. After an exec the user makes a new Space.
type Space struct {
	pid    int
	files  *elfsym.Cache
	source *source
	jit    jitMap
	now    atomic.Pointer[mapState]
	lack   atomic.Pointer[error] // of the last object that could not be opened because something was lacking

	memoryMu sync.Mutex
	mem      *mem.Patient // opened when text that was moved is first met
	closed   bool

	mu sync.Mutex // one Refresh at a time
}

// mapSeed is the seed of the hashes of maps, which nobody can know in advance.
var mapSeed = maphash.MakeSeed()

var _ unwind.Code = (*Space)(nil)

// NewSpace reads the map of a process, which needs the permission
// PTRACE_MODE_READ. Files are opened through the cache, which any number of Spaces
// may share; nil makes a cache for this Space. A process without memory (a zombie,
// a kernel thread) has an empty map.
func NewSpace(pid int, files *elfsym.Cache) (*Space, error) {
	src, err := newSource(pid)
	if err != nil {
		return nil, err
	}
	if files == nil {
		files = elfsym.NewCache(ownFiles)
	}
	s := Unreadable(pid, files)
	s.source = src
	if err := s.Refresh(); err != nil {
		src.close()
		return nil, err
	}
	return s, nil
}

// Unreadable returns a Space for a process whose map may not be read. It is empty until
// a Refresh succeeds.
func Unreadable(pid int, files *elfsym.Cache) *Space {
	s := &Space{pid: pid, files: files, source: &source{pid: pid}, jit: jitMap{pid: pid, files: files}}
	s.now.Store(&mapState{})
	return s
}

// Lack returns why an object could not be opened since the last call, if descriptors or memory were lacking.
// Otherwise it returns nil. The object is tried again when it is needed next. Lack also returns the error if the file
// system of an object does not answer, or is gone; it does so each time that the object has been needed.
func (s *Space) Lack() error {
	if err := s.lack.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// Refresh reads the map again. What is known of objects that are still there is
// kept. A map that has not changed is only read. If the process has ended, the last
// map stays, and the error satisfies syscall.ESRCH.
func (s *Space) Refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return procfs.ReadMaps(s.pid, s.take)
}

// RefreshIf is [Space.Refresh], but takes over what it has read only if valid returns true then: the process may have executed another
// program meanwhile.
func RefreshIf(s *Space, valid func() bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return procfs.ReadMaps(s.pid, func(text []byte) error {
		if !valid() {
			return errGone
		}
		return s.take(text)
	})
}

// Take takes over one executable mapping that the kernel has reported. It replaces what was mapped there. The data of its
// object is known after the next Refresh. Take reports whether that mapping was new.
func (s *Space) Take(m procfs.Map) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.now.Load()
	if old.has(&m) {
		return false
	}
	state := old.with(m)
	state.inherit(old)
	s.now.Store(state)
	return true
}

// take takes over the text of the map. s.mu is held.
func (s *Space) take(text []byte) error {
	old := s.now.Load()
	now := mapText{true, len(text), maphash.Bytes(mapSeed, text)}
	switch {
	case now == old.text:
		return nil
	case len(text) == 0 && old.text.size > 0: // a zombie: the last map still explains its last addresses
		return errGone
	}
	maps, err := procfs.ParseMaps(text)
	if err != nil {
		return err
	}
	state := build(maps, old.images)
	state.text = now
	state.auxv = s.auxvOf(state, old)
	state.inherit(old)
	s.now.Store(state)
	return nil
}

// Auxv returns the auxiliary vector of the program. It was read for the first map that has the program's main
// object. It must not be changed. It is nil if it could not be read.
func (s *Space) Auxv() procfs.Auxv { return s.now.Load().auxv }

// auxvOf returns the auxiliary vector of the main program. It stays the same while the main
// object does, so it is read again only for another main object.
func (s *Space) auxvOf(state, old *mapState) procfs.Auxv {
	was, is := old.find(old.entry()), state.find(old.entry())
	if was != nil && is != nil && was.object != nil && is.object != nil &&
		was.object.id == is.object.id && was.object.start == is.object.start {
		return old.auxv
	}
	auxv, err := procfs.ReadAuxv(s.pid)
	if err != nil {
		return nil // an empty map has no main program either
	}
	return auxv
}

// Close gives back what the Space holds of the process. After that the Space opens
// no file any more, but still looks things up in open ones. Close is idempotent.
func (s *Space) Close() {
	s.jit.close()
	s.source.close()
	s.memoryMu.Lock()
	defer s.memoryMu.Unlock()
	if s.closed = true; s.mem != nil {
		s.mem.Close()
	}
}

// Find returns the executable memory that contains a program counter. Only the
// first call for that memory allocates.
func (s *Space) Find(pc uint64) (unwind.Mapping, bool) { return s.Now().Find(pc) }

// Find is Space.Find.
func (t Then) Find(pc uint64) (unwind.Mapping, bool) {
	r, s := t.state.find(pc), t.space
	if r == nil || r.Perm&procfs.Exec == 0 {
		return unwind.Mapping{}, false
	}
	if m := r.code.Load(); m != nil {
		return *m, true
	}
	if r.isMoved() {
		return s.foundMoved(r, pc), true
	}
	return s.resolve(r), true
}

// Knows reports whether a program counter is in memory that was mapped at the last
// Refresh. It opens nothing.
func (s *Space) Knows(pc uint64) bool { return s.Now().Knows(pc) }

// resolve opens the region's object and finds its bias.
func (s *Space) resolve(r *region) unwind.Mapping {
	m := unwind.Mapping{Start: r.Start, End: r.End}
	final := true
	if r.object == nil {
		m.Special = unwind.Anonymous
		s.jit.hold(s.source)
	} else {
		var l *loaded
		var err error
		l, err = s.load(r.object)
		final = err == nil
		if r.object.id.special == vdsoName {
			m.Special = unwind.VDSO
		}
		if bias, ok := l.bias(r); ok {
			m.Bias, m.Table = bias, l.table
		}
	}
	if final {
		r.code.Store(&m)
	}
	return m
}

// memory opens the process's memory, once.
func (s *Space) memory() (*mem.Patient, error) {
	s.memoryMu.Lock()
	defer s.memoryMu.Unlock()
	switch {
	case s.mem != nil:
		return s.mem, nil
	case s.closed:
		return nil, errGone
	}
	m, err := mem.OpenPatient(s.pid)
	s.mem = m
	return m, err
}
