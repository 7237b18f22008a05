package handle

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

// TestGrabsMeet has many callers grab one pid while the first one is at work.
func TestGrabsMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.gate = make(chan struct{})
		r := w.registry(t, 0) // a handle without references is gone at once
		const n = 10
		handles := make(chan *Handle, n)
		for range n {
			go func() {
				h, err := r.Grab(context.Background(), 1)
				if err != nil {
					t.Error(err)
				}
				handles <- h
			}()
		}
		synctest.Wait() // one of them is at work
		ctx, cancel := context.WithCancel(t.Context())
		impatient := make(chan error)
		go func() {
			_, err := r.Grab(ctx, 1)
			impatient <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-impatient; err != context.Canceled {
			t.Errorf("an impatient Grab: %v", err)
		}
		close(w.gate)
		first := <-handles
		for range n - 1 {
			if h := <-handles; h != first {
				t.Error("grabs that met have different handles")
			}
		}
		if w.looks.Load() != 1 {
			t.Errorf("the work was done %d times", w.looks.Load())
		}
		for range n {
			release(t, first)
		}
		wantLen(t, r, 0, 0)
	})
}

// TestErrorsAreNotKept: the callers that have waited get the same error, and the next caller tries again.
func TestErrorsAreNotKept(t *testing.T) {
	w := newWorld(1)
	r := w.registry(t, 1)
	w.failing = syscall.EACCES
	if _, err := r.Grab(t.Context(), 1); err != syscall.EACCES {
		t.Errorf("Grab: %v", err)
	}
	w.failing = nil
	release(t, grab(t, r, 1))
	func() {
		defer func() { recover() }()
		r.Control(t.Context(), 1, func(context.Context) (Controlled, error) { panic("open") })
	}()
	c := newRein()
	h, err := r.Control(t.Context(), 1, c.open) // does not wait for the one that panicked
	if err != nil {
		t.Fatal(err)
	}
	release(t, h)
}

// TestReaderMeetsControl: a read-only grab during a control grab shares the handle
// of that, or reads by itself if control is refused. A grab during the end of
// control waits for the end.
func TestReaderMeetsControl(t *testing.T) {
	for _, refused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(1)
			r := w.registry(t, 1)
			c := newRein()
			c.slow = make(chan struct{})
			attached := make(chan error)
			controlled := make(chan *Handle)
			go func() {
				h, _ := r.Control(t.Context(), 1, func(context.Context) (Controlled, error) { return c, <-attached })
				controlled <- h
			}()
			synctest.Wait()
			read := make(chan *Handle)
			go func() { read <- grab(t, r, 1) }()
			synctest.Wait()
			if refused {
				attached <- os.ErrPermission
				<-controlled
				h := <-read
				if !h.ReadOnly() {
					t.Error("the handle is not read-only")
				}
				release(t, h)
				return
			}
			attached <- nil
			h := <-controlled
			if <-read != h {
				t.Error("the reader does not share the control handle")
			}
			release(t, h)
			ended := make(chan error)
			go func() { ended <- h.Release() }()
			synctest.Wait()
			go func() { read <- grab(t, r, 1) }()
			synctest.Wait()
			select {
			case <-read:
				t.Error("a grab did not wait for the end of control")
			default:
			}
			c.within = errors.ErrUnsupported
			if _, err := r.Grab(t.Context(), 1); err != c.within {
				t.Errorf("a grab that cannot wait for the end of control: %v", err)
			}
			close(c.slow)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if next := <-read; next == h || !next.ReadOnly() {
				t.Error("after the end of control its handle is still used")
			} else {
				release(t, next)
			}
		})
	}
}
