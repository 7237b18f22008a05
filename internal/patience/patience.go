// Package patience bounds the wait for a file system that does not answer, because its server is down or its daemon
// (FUSE) has stopped.
package patience

import (
	"errors"
	"time"
)

// ErrHung is the error of an operation on a file whose file system does not answer.
var ErrHung = errors.New("its file system does not answer")

// limit is how long one operation may take.
const limit = time.Second

// Do calls f, which opens or reads files, on a goroutine of its own, and fails with ErrHung if f does not return
// in time. The goroutine is left behind then. It ends when the file system answers or is unmounted, and passes the
// late result of f to discard.
func Do[T any](f func() (T, error), discard func(T)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done, late := make(chan outcome), make(chan struct{})
	go func() {
		v, err := f()
		select {
		case done <- outcome{v, err}:
		case <-late:
			if err == nil {
				discard(v)
			}
		}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case got := <-done:
		return got.v, got.err
	case <-timer.C:
		close(late)
		var none T
		return none, ErrHung
	}
}
