package source

import (
	"context"
	"errors"
	"slices"

	"ptools/internal/goroutines"
	"ptools/internal/gotime"
)

// goroutineReader implements gotime.Program.
type goroutineReader struct {
	n        *native
	finder   goroutines.Finder
	runtimes []*goroutines.Runtime
	readers  []*goroutines.Reader
}

// Goroutines returns the program whose goroutines are read.
func (n *native) Goroutines() gotime.Program { return &goroutineReader{n: n} }

// Find implements gotime.Program. It finds all runtimes that the process has now, or none: a part of the goroutines would be taken for all.
func (r *goroutineReader) Find() error {
	found, err := r.finder.Find(r.n.Space, r.n.mem)
	switch {
	case r.n.mem.Stale():
		return gotime.ErrOver
	case errors.Is(err, goroutines.ErrEarly) && len(r.readers) > 0: // another library has just been loaded
		return nil
	case err != nil:
		return err
	case slices.Equal(found, r.runtimes):
		return nil
	}
	r.runtimes, r.readers = found, nil
	for _, one := range found {
		r.readers = append(r.readers, one.NewReader(r.n.mem, r.n.Space))
	}
	return nil
}

// Read implements gotime.Program.
func (r *goroutineReader) Read(ctx context.Context, f func(*goroutines.G)) (unread int, err error) {
	for _, reader := range r.readers {
		before := reader.Unread
		if err = reader.Read(ctx, func(g *goroutines.G) bool { f(g); return true }); err != nil {
			break
		}
		unread += reader.Unread - before
	}
	if r.n.mem.Stale() {
		return 0, gotime.ErrOver
	}
	return unread, err
}

// Name implements gotime.Program.
func (r *goroutineReader) Name(pc uint64) string { return r.n.Symbolize(pc, 0, nil)[0].Func }
