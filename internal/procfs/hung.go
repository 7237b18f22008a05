package procfs

import (
	"errors"
	"time"
)

// ErrHung is the error of an operation on a file whose file system does not answer.
var ErrHung = errors.New("its file system does not answer")

// patience is how long the opening of a file may take.
const patience = time.Second

// Patiently calls f, which opens files of a process, on a goroutine of its own, and fails with ErrHung if that does
// not return: a file system may be down. The goroutine is left behind then, and ends when the file system answers or
// is unmounted; what f returns too late goes to discard.
func Patiently[T any](f func() (T, error), discard func(T)) (T, error) {
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
	timer := time.NewTimer(patience)
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
