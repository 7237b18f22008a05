package goroutines

import (
	"errors"
	"strings"

	"ptools/pctl/handle"
)

// In finds the runtime of the main program of an address space, or else those of the libraries that have one. Its error is ErrNone
// if there is none, and ErrEarly if the one that there is has not begun.
func In(space *handle.Space, m Memory) ([]*Runtime, error) {
	main := func() []handle.Object { return space.Named("a.out") }
	for _, objects := range []func() []handle.Object{main, space.Objects} {
		var found []*Runtime
		var failed error
		for _, o := range objects() {
			if o.File == nil {
				continue
			}
			r, err := Open(o.File, o.Bias, m)
			switch {
			case err == nil:
				found = append(found, r)
			case !errors.Is(err, ErrNone):
				failed = err
			}
		}
		if failed != nil || len(found) > 0 {
			return found, failed
		}
	}
	if err := space.Lack(); err != nil {
		return nil, err
	}
	return nil, ErrNone
}

// System reports whether goroutines that begin with a function are the runtime's own, as Go's traces see it.
func System(start string) bool {
	switch start {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent":
		return false
	}
	return strings.HasPrefix(start, "runtime.")
}
