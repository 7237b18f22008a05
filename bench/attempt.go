package main

import "fmt"

// failure is why something cannot be measured. It ends the measurement, as it would end a test: what comes after
// a step that has failed has nothing to go by.
type failure struct{ err error }

// check ends the measurement if there is an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// fail ends it with that reason.
func fail(format string, args ...any) { check(fmt.Errorf(format, args...)) }

// must is check for what has a value, too.
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
