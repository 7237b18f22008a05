package handle

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"syscall"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"ptools/internal/elfsym"
)

// DefaultIdle is the limit of idle handles of a tool that does not choose a
// limit.
const DefaultIdle = 8

// errGone is the error of a process that has ended.
var errGone error = syscall.ESRCH

// A Registry has the handles of the processes that are grabbed, or were. Any
// goroutine may call its methods. Slow work (reading maps, attaching) is done
// once for all callers that wait for it, and outside the lock.
type Registry struct {
	limit    int // of idle handles
	identify func(pid int) (id identity, start uint64, err error)
	newSpace func(pid int) (*Space, error)

	mu      sync.Mutex
	hash    map[int]*Handle // what a grab returns
	flights map[int]*flight // pids that a caller is working on
	closed  bool

	// recent has the handles of hash that have no reference. A handle that is used again
	// keeps its entry, so that grabbing and releasing a cached process makes no new one.
	// nil if the limit is 0.
	recent *simplelru.LRU[int, *Handle]
	idle   int // how many handles in recent have no reference
}

// NewRegistry makes a Registry that keeps up to limit idle read-only handles (0:
// none; a negative limit is an error). It opens files through a cache, which may
// be shared.
func NewRegistry(limit int, files *elfsym.Cache) (*Registry, error) {
	if limit < 0 {
		return nil, fmt.Errorf("handle: limit of idle handles is negative: %d", limit)
	}
	r := &Registry{
		limit:    limit,
		identify: identifyProcess,
		newSpace: func(pid int) (*Space, error) { return NewSpace(pid, files) },
		hash:     map[int]*Handle{},
		flights:  map[int]*flight{},
	}
	if limit > 0 {
		recent, err := simplelru.NewLRU[int, *Handle](math.MaxInt, nil) // rest keeps it within the limit
		if err != nil {
			return nil, err
		}
		r.recent = recent
	}
	return r, nil
}

func identifyProcess(pid int) (identity, uint64, error) {
	p, err := identify(pid)
	if err != nil {
		return nil, 0, err
	}
	return p, p.start, nil
}

// Grab returns a handle of a process without attaching to it or stopping it: the
// existing handle, under control or not, or a new read-only one. An existing
// handle is checked first. If its process has ended it is forgotten; if the
// process has exec'd, its map is read again. ctx bounds the wait for other callers
// that work on the same pid.
func (r *Registry) Grab(ctx context.Context, pid int) (*Handle, error) {
	return r.obtain(ctx, pid, false, func() (*Handle, error) { return r.openReadOnly(pid) })
}

// Control returns the control handle of a process: the existing one, or a new one
// with the control that open obtains. An existing read-only handle becomes stale
// once open has succeeded. open runs on the caller's goroutine, without a lock. It
// must not call the Registry for the same pid.
func (r *Registry) Control(ctx context.Context, pid int, open func(ctx context.Context) (Controlled, error)) (*Handle, error) {
	return r.obtain(ctx, pid, true, func() (*Handle, error) { return r.openControl(ctx, pid, open) })
}

// Adopt makes a handle of a process that its caller has created, or controls for
// another reason. It takes over control, and releases it on an error. The error is
// EEXIST if the process is under another handle's control. A process that has
// ended by now gets a handle too, so that the client learns of its end.
func (r *Registry) Adopt(ctx context.Context, pid int, control Controlled) (*Handle, error) {
	adopted := false
	h, err := r.obtain(ctx, pid, true, func() (*Handle, error) {
		adopted = true
		return r.openAdopted(pid, control), nil
	})
	switch {
	case adopted:
		return h, err
	case err == nil:
		err = errors.Join(syscall.EEXIST, h.Release())
	}
	return nil, errors.Join(err, control.Release())
}

// obtain returns the existing handle, or the one that another caller is opening, or
// else the one that open makes. A handle that another caller has opened is checked:
// the process may have ended, and its number been used again, before this call.
func (r *Registry) obtain(ctx context.Context, pid int, control bool, open func() (*Handle, error)) (*Handle, error) {
	for {
		h, f, mine, err := r.find(pid, control)
		switch {
		case err != nil:
			return nil, err
		case mine:
			return r.fly(f, open)
		case f != nil:
			if h, err = r.await(ctx, f, control); err != nil {
				return nil, err
			}
		}
		if h == nil {
			continue
		}
		if ok, err := r.usable(h); err != nil {
			return nil, err
		} else if ok {
			return h, nil
		}
	}
}

// Len returns how many handles there are that a grab may return, and how many of
// them are idle.
func (r *Registry) Len() (all, idle int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.hash), r.idle
}

// Close gives back the idle handles, and makes later grabs fail with os.ErrClosed.
// Handles with references stay usable; their last Release destroys them. Close is
// idempotent.
func (r *Registry) Close() {
	r.mu.Lock()
	r.closed = true
	var idle []*Handle
	for _, h := range r.hash {
		if h.idle {
			idle = append(idle, h)
			r.forget(h)
		}
	}
	r.mu.Unlock()
	for _, h := range idle {
		h.close()
	}
}

// find returns a handle with one more reference, or the flight to wait for, or a
// new flight that the caller has to fly (mine).
func (r *Registry) find(pid int, control bool) (h *Handle, f *flight, mine bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, false, os.ErrClosed
	}
	h = r.hash[pid]
	if h != nil && (h.control != nil || !control) {
		r.retain(h)
		return h, nil, false, nil
	}
	if f = r.flights[pid]; f != nil {
		f.board(control)
		return nil, f, false, nil
	}
	f = &flight{pid: pid, control: control, done: make(chan struct{})}
	r.flights[pid] = f
	return nil, f, true, nil
}

// retain adds a reference. r.mu is held.
func (r *Registry) retain(h *Handle) {
	r.wake(h)
	h.refs++
}

// rest makes a handle without references idle. It returns the handle that has to leave
// the cache for it, or nil. r.mu is held.
func (r *Registry) rest(h *Handle) (out *Handle) {
	h.idle = true
	r.idle++
	r.recent.Add(h.pid, h)
	for r.idle > r.limit {
		// A handle that is in use has an entry from its last release, and only loses that.
		if _, out, _ = r.recent.RemoveOldest(); out.idle {
			r.forget(out)
		}
	}
	return out
}

// wake undoes rest, except that the entry stays. r.mu is held.
func (r *Registry) wake(h *Handle) {
	if h.idle {
		h.idle = false
		r.idle--
	}
}

// usable checks a handle that was found. It reports false, and gives the reference
// back, if the handle's process has ended, or is not under control any more.
func (r *Registry) usable(h *Handle) (bool, error) {
	over := false
	if h.control != nil {
		select {
		case <-h.control.Done():
			over = true
		default:
		}
	}
	if !over {
		switch h.id.check() {
		case same:
			return true, nil
		case replaced:
			if h.control != nil {
				return true, nil // control follows execs by itself
			}
			err := h.follow()
			if err == nil {
				return true, nil
			}
			if h.id.check() != gone {
				return false, errors.Join(err, h.Release())
			}
		}
	}
	r.drop(h)
	return false, h.Release()
}

// drop removes a handle from the registry. It reports whether the handle was idle;
// then the caller has to close it.
func (r *Registry) drop(h *Handle) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	idle := h.idle
	r.forget(h)
	return idle
}

// forget removes a handle from the hash and from the idle ones. Callers that hold it
// keep it. r.mu is held.
func (r *Registry) forget(h *Handle) {
	h.stale = true
	if r.hash[h.pid] != h {
		return
	}
	r.wake(h)
	delete(r.hash, h.pid)
	if r.recent != nil {
		r.recent.Remove(h.pid)
	}
}

func (r *Registry) openReadOnly(pid int) (*Handle, error) {
	id, start, err := r.identify(pid)
	if err != nil {
		return nil, err
	}
	s, err := r.newSpace(pid)
	if err == nil && id.check() == gone { // the map may be another process's
		s.Close()
		err = errGone
	}
	if err != nil {
		id.close()
		return nil, err
	}
	h := &Handle{registry: r, pid: pid, start: start, id: id}
	h.space.Store(s)
	h.watch()
	return h, nil
}

func (r *Registry) openControl(ctx context.Context, pid int, open func(context.Context) (Controlled, error)) (*Handle, error) {
	id, start, err := r.identify(pid)
	if err != nil {
		return nil, err
	}
	var h *Handle
	defer func() {
		if h == nil { // also when open panics
			id.close()
		}
	}()
	c, err := open(ctx)
	if err != nil {
		return nil, err
	}
	if id.check() == gone { // the controlled process may be another one
		return nil, errors.Join(errGone, c.Release())
	}
	h = &Handle{registry: r, pid: pid, start: start, id: id, control: c}
	h.watch()
	return h, nil
}

// openAdopted is openControl for control that exists already. The process may have
// ended meanwhile, and its controller may even have reaped it.
func (r *Registry) openAdopted(pid int, c Controlled) *Handle {
	id, start, err := r.identify(pid)
	if err != nil {
		id, start = departed{}, 0
	}
	h := &Handle{registry: r, pid: pid, start: start, id: id, control: c}
	h.watch()
	return h
}
