package goroutines

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ptools/pctl/handle"
)

// A Finder remembers the runtimes of a process, and finds them again when it has loaded other objects. Any goroutine may use it.
type Finder struct {
	mu       sync.Mutex
	space    *handle.Space
	objects  []handle.Object
	runtimes []*Runtime
}

// Find returns what in does of the memory that is mapped now.
func (f *Finder) Find(space *handle.Space, m Memory) ([]*Runtime, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	space.Refresh() // of a process that has just ended the last map is as good
	objects := space.Mapped()
	same := func(a, b handle.Object) bool { return a.Path == b.Path && a.Start == b.Start }
	if f.space == space && slices.EqualFunc(objects, f.objects, same) {
		return f.runtimes, nil
	}
	found, err := in(space, m)
	if err == nil {
		f.space, f.objects, f.runtimes = space, objects, found
	}
	return found, err
}

// in finds the Go runtimes of an address space, the main program's first: C programs may have several in libraries, and so may a Go program.
// A plugin has none of its own, but code of the runtime's. The error is ErrNone if there is none, and ErrEarly if the one that there is has not
// begun. Runtimes may be returned with an error: there are others.
func in(space *handle.Space, m Memory) (found []*Runtime, err error) {
	for i, o := range space.Named("") {
		if o.File == nil {
			continue
		}
		r, failed := runtimeOf(o.File, o.Bias, m)
		switch {
		case failed == nil:
			found = join(found, r, o.Path)
		case errors.Is(failed, ErrNone):
		case i == 0:
			err = failed
		default:
			err = fmt.Errorf("%s: %w", o.Name, failed)
		}
	}
	if len(found) > 0 || err != nil {
		return found, err
	}
	if err := space.Lack(); err != nil {
		return nil, err
	}
	return nil, ErrNone
}

// join adds a runtime. If it is already there, an object has only further code of it.
func join(found []*Runtime, r *Runtime, path string) []*Runtime {
	for _, known := range found {
		if known.allgs == r.allgs {
			known.waiters.add(&r.waiters)
			return found
		}
	}
	r.Path = path
	return append(found, r)
}

// System reports whether a goroutine is the runtime's own, as Go's traces see it: it begins with a function of the runtime and does not call the
// program's, as one does that runs finalizers or cleanups. name returns the name of the function with an instruction.
func (g *G) System(name func(pc uint64) string) bool {
	const runtime, inner = "runtime.", "internal/runtime/"
	start := name(g.Start)
	switch start {
	case "runtime.main", "runtime.corostart", "runtime.handleAsyncEvent":
		return false
	case "runtime.runfinq", "runtime.runFinalizers", "runtime.runCleanups":
		if g.Stack == nil {
			return true
		}
		for _, f := range g.Stack.Frames {
			pc := f.PC
			if f.Return {
				pc--
			}
			if function := name(pc); function != "" && !strings.HasPrefix(function, runtime) && !strings.HasPrefix(function, inner) {
				return false
			}
		}
	}
	return strings.HasPrefix(start, runtime)
}
