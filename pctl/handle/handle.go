package handle

import (
	"context"
	"os"
	"sync"
	"sync/atomic"

	"ptools/internal/mem"
)

// Controlled is the control of a process, which a handle that was grabbed for
// control owns.
type Controlled interface {
	// Space is the map of the present address space. Control keeps it up to date.
	Space() *Space
	// Done is closed when control has ended, for whatever reason.
	Done() <-chan struct{}
	// MayAwait returns an error if the caller cannot wait for the end of control,
	// because control cannot end before the caller returns.
	MayAwait() error
	// Release ends control and returns when it has ended. It is called once,
	// by the caller that drops the last reference.
	Release() error
}

// A Handle is a process that has been grabbed. All clients that have grabbed the
// same process share one Handle, and each calls Release once. Any goroutine may
// call its methods.
type Handle struct {
	registry *Registry
	pid      int
	start    uint64
	id       identity
	control  Controlled

	space atomic.Pointer[Space] // nil if there is control, which has the Space

	image  sync.Mutex // one refresh at a time
	memory *mem.Patient
	ended  bool // closed: nothing is opened any more

	unwatch context.CancelFunc
	watched chan struct{} // closed when the watcher has ended

	// Guarded by registry.mu:
	refs  int
	idle  bool // in the cache, with no references
	stale bool // has left the hash; never idle
}

// PID is the process's number.
func (h *Handle) PID() int { return h.pid }

// StartTime is when the process started, in ticks since boot. PID and StartTime
// together identify the process for as long as the machine is up.
func (h *Handle) StartTime() uint64 { return h.start }

// ReadOnly reports whether the handle was opened without control.
func (h *Handle) ReadOnly() bool { return h.control == nil }

// Control is the control of the process, nil for a read-only handle.
func (h *Handle) Control() Controlled { return h.control }

// Space is the map of the process's address space. A later exec replaces it.
func (h *Handle) Space() *Space {
	if h.control != nil {
		return h.control.Space()
	}
	return h.space.Load()
}

// Alive reports whether the process has not ended.
func (h *Handle) Alive() bool { return h.id.check() != gone }

// Memory is the memory of the present image. The first call opens it, which needs
// the permission PTRACE_MODE_ATTACH. It is closed with the handle, and when an
// exec has been noticed.
func (h *Handle) Memory() (*mem.Patient, error) {
	h.image.Lock()
	defer h.image.Unlock()
	if h.ended {
		return nil, os.ErrClosed
	}
	if h.memory != nil && !h.memory.Stale() {
		return h.memory, nil
	}
	m, err := mem.OpenPatient(h.pid)
	if err != nil {
		return nil, err
	}
	if h.id.check() == gone { // another process may have the number
		m.Close()
		return nil, errGone
	}
	h.closeMemory()
	h.memory = m
	return m, nil
}

func (h *Handle) closeMemory() {
	if h.memory != nil {
		h.memory.Close()
		h.memory = nil
	}
}

// follow reads the new image after an exec. It binds the identity to the image
// first, so that the next check finds a later exec.
func (h *Handle) follow() error {
	h.image.Lock()
	defer h.image.Unlock()
	if h.ended {
		return os.ErrClosed
	}
	if h.id.check() != replaced {
		return nil // another goroutine was faster
	}
	var s *Space
	err := h.id.renew()
	if err == nil {
		s, err = h.registry.newSpace(h.pid)
	}
	if err != nil { // no caller must get this handle with the map of the old image
		h.registry.drop(h)
		return err
	}
	h.closeMemory()
	if old := h.space.Swap(s); old != nil {
		old.Close()
	}
	return nil
}

// Release drops one reference. The last Release of a read-only handle leaves it
// idle in the registry. The last Release of any other handle ends control, waits
// for that, and returns its error. More releases than grabs panic.
func (h *Handle) Release() error { return h.registry.release(h) }

// watch starts a goroutine that removes the handle from the registry when the
// process has ended. The goroutine ends then, or by close, which waits for it.
func (h *Handle) watch() {
	var ctx context.Context
	ctx, h.unwatch = context.WithCancel(context.Background())
	h.watched = make(chan struct{})
	go func() {
		defer close(h.watched)
		if h.id.wait(ctx) == nil && h.registry.drop(h) {
			h.discard()
		}
	}()
}

// close gives back what the handle holds. It is called when there is no reference
// any more, and the registry does not have the handle.
func (h *Handle) close() {
	h.unwatch()
	<-h.watched
	h.discard()
}

func (h *Handle) discard() {
	h.unwatch()
	h.image.Lock()
	defer h.image.Unlock()
	h.ended = true
	h.closeMemory()
	if s := h.space.Load(); s != nil {
		s.Close()
	}
	h.id.close()
}
