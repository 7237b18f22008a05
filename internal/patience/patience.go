// Package patience bounds what a file system may keep us waiting for: that of a server that is down, or of a daemon
// that has stopped (FUSE).
package patience

import (
	"errors"
	"time"
)

// ErrHung is the error of an operation on a file whose file system does not answer.
var ErrHung = errors.New("its file system does not answer")

// limit is how long one operation may take.
const limit = time.Second

// Do calls f, which opens or reads files, on a goroutine of its own, and fails with ErrHung if that does not
// return. The goroutine is left behind then, and ends when the file system answers or is unmounted; what f returns
// too late goes to discard.
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
