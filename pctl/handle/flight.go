package handle

import (
	"context"
	"errors"
	"os"
)

// A flight is work on one pid: opening a handle, or ending control. All other
// callers that want the same pid wait for it. There is one flight at a time for a
// pid. A flight that fails leaves nothing behind: the next grab tries again.
type flight struct {
	pid     int
	control bool       // opens for control
	ending  Controlled // the control that it ends, without a handle as result; nil: it opens

	// waiting counts the callers that take the flight's handle as it is: those that
	// want a read-only one and, if it is for control, those that want control.
	// Guarded by the registry's mu until done is closed.
	waiting int

	done chan struct{} // closed when the work is done
	h    *Handle       // has a reference for each waiting caller
	err  error
}

// suits reports whether a caller can take the handle of the flight.
func (f *flight) suits(control bool) bool { return f.ending == nil && (f.control || !control) }

// board counts a caller that will wait. registry.mu is held.
func (f *flight) board(control bool) {
	if f.suits(control) {
		f.waiting++
	}
}

// fly does the work of a flight and publishes the handle.
func (r *Registry) fly(f *flight, open func() (*Handle, error)) (*Handle, error) {
	landed := false
	defer func() {
		if !landed { // open has panicked: no caller may wait for ever
			r.land(f, nil, errors.New("handle: opening panicked"))
		}
	}()
	h, err := open()
	landed = true
	return r.land(f, h, err)
}

// land ends a flight. A handle that comes of it replaces the one in the hash.
// That one is read-only, and becomes stale.
func (r *Registry) land(f *flight, h *Handle, err error) (*Handle, error) {
	r.mu.Lock()
	var old *Handle
	if h != nil && r.closed {
		h.refs, h.stale = 1, true
	} else if h != nil {
		h.refs = 1 + f.waiting
		if old = r.hash[f.pid]; old != nil {
			r.forget(old)
			if old.refs > 0 {
				old = nil // its holders close it
			}
		}
		if !h.stale { // its process may have ended already
			r.hash[f.pid] = h
		}
		f.h = h
	}
	closed := r.closed
	delete(r.flights, f.pid)
	f.err = err
	if closed && err == nil {
		f.err = os.ErrClosed
	}
	close(f.done)
	r.mu.Unlock()
	if old != nil {
		old.close()
	}
	if closed && h != nil {
		return nil, errors.Join(os.ErrClosed, h.Release())
	}
	return h, err
}

// await waits for the flight of another caller. It returns neither a handle nor an
// error if the result is not what the caller wants, or says nothing about that. The
// caller then looks again.
func (r *Registry) await(ctx context.Context, f *flight, control bool) (*Handle, error) {
	if f.ending != nil {
		if err := f.ending.MayAwait(); err != nil {
			return nil, err
		}
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		if err := r.alight(f, control); err != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		return nil, ctx.Err()
	}
	switch {
	case !f.suits(control):
		return nil, nil
	case f.err == nil:
		return f.h, nil
	case f.control != control: // a refusal to attach does not mean that the process cannot be read
		return nil, nil
	case errors.Is(f.err, context.Canceled) || errors.Is(f.err, context.DeadlineExceeded):
		return nil, nil // the other caller's ctx has ended
	case errors.Is(f.err, errGone):
		return nil, nil // another process may have the number by now
	}
	return nil, f.err
}

// alight is the opposite of board, for a caller that cannot wait any longer.
func (r *Registry) alight(f *flight, control bool) error {
	if !f.suits(control) {
		return nil
	}
	r.mu.Lock()
	select {
	case <-f.done:
		r.mu.Unlock()
		if f.h != nil {
			return f.h.Release()
		}
		return nil
	default:
		f.waiting--
		r.mu.Unlock()
		return nil
	}
}

// release drops a reference. Control ends in a flight, so that a grab of the
// same process waits until it can be attached to again.
func (r *Registry) release(h *Handle) error {
	r.mu.Lock()
	if h.refs == 0 {
		r.mu.Unlock()
		panic("handle: Release of a handle without references")
	}
	h.refs--
	switch {
	case h.refs > 0:
		r.mu.Unlock()
		return nil
	case h.control != nil:
		return r.endControl(h)
	case h.stale || r.closed || r.recent == nil:
		r.forget(h)
		r.mu.Unlock()
		h.close()
		return nil
	}
	out := r.rest(h)
	r.mu.Unlock()
	if out != nil {
		out.close()
	}
	return nil
}

// endControl is called with r.mu held, and returns with it unlocked.
func (r *Registry) endControl(h *Handle) error {
	r.forget(h)
	if r.flights[h.pid] == nil {
		f := &flight{pid: h.pid, ending: h.control, done: make(chan struct{})}
		r.flights[h.pid] = f
		defer r.land(f, nil, nil)
	}
	r.mu.Unlock()
	err := h.control.Release()
	h.close()
	return err
}
