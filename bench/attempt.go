package main

import "fmt"

// failure is why something cannot be measured. It ends the measurement, as it would end a test: the steps after
// a failed step depend on it.
type failure struct{ err error }

// check ends the measurement if there is an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// fail ends the measurement with a reason.
func fail(format string, args ...any) { check(fmt.Errorf(format, args...)) }

// must is check for a function that returns a value, too.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// attempt returns the error that has ended f, or nil.
func attempt(f func()) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case failure:
			err = x.err
		default:
			panic(x)
		}
	}()
	f()
	return nil
}
