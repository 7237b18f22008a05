// Package patience bounds the wait for a file system that does not answer, because its server is down or its daemon
// (FUSE) has stopped.
package patience

import (
	"errors"
	"sync/atomic"
	"time"
)

// ErrHung is the error of an operation on a file whose file system does not answer.
var ErrHung = errors.New("its file system does not answer")

// limit is how long one operation may take.
const limit = time.Second

// MostLeft is how many goroutines may be left behind at the same time by this package, and how many by package mem. Each
// keeps an OS thread. If the kernel has no thread to give, Go's runtime ends the program.
const MostLeft = 128

var left atomic.Int64 // goroutines that were left behind

// Do calls f, which opens or reads files, on a goroutine of its own, and fails with ErrHung if f does not return
// in time. The goroutine is left behind then. It ends when the file system answers or is unmounted, and passes the
// late result of f to discard. While MostLeft of them are left behind, Do fails at once.
func Do[T any](f func() (T, error), discard func(T)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	var none T
	if left.Load() >= MostLeft {
		return none, ErrHung
	}
	done, late := make(chan outcome), make(chan struct{})
	go func() {
		v, err := f()
		select {
		case done <- outcome{v, err}:
		case <-late:
			left.Add(-1)
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
		left.Add(1)
		close(late)
		return none, ErrHung
	}
}
