package elfsym

import (
	"errors"
	"fmt"
	"sync"

	"ptools/internal/patience"
)

// missing notes files with debug information that could not be opened.
type missing struct {
	mu    sync.Mutex
	first error
	files int
	stuck bool // a file system did not answer: no further file is tried
}

// note counts a file that could not be opened.
func (m *missing) note(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == nil {
		m.first = err
	}
	m.files++
}

// wait notes whether err says that a file system does not answer.
func (m *missing) wait(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stuck = m.stuck || errors.Is(err, patience.ErrHung)
}

func (m *missing) hung() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stuck
}

// Missing returns which debug information was needed and could not be opened: files of split units (.dwo, .dwp), or the
// supplementary file that dwz has made. It returns nil if nothing was missing. Functions that were inlined are not
// shown then, and code counts as the functions that have a symbol. If all could be opened, Missing returns an error for a
// file whose tables ask for more work than its size explains, and for one for which there was no memory beside those of others.
func (f *File) Missing() error {
	m := &f.missing
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.first == nil && f.budget.exceeded():
		return fmt.Errorf("%s: %w", f.path, errExcess)
	case m.first == nil && f.Crowded():
		return fmt.Errorf("%s: %w", f.path, errCrowded)
	case m.first == nil:
		return nil
	case m.files > 1:
		return fmt.Errorf("%s: inlined functions are not shown: %w (and %d more)", f.path, m.first, m.files-1)
	}
	return fmt.Errorf("%s: inlined functions are not shown: %w", f.path, m.first)
}

// Missing returns what was missing for the files that the cache holds.
func (c *Cache) Missing() []error {
	c.mu.Lock()
	held := c.files.Values()
	c.mu.Unlock()
	var errs []error
	for _, e := range held {
		f := e.open.Load()
		if f == nil {
			continue // it is being opened, or could not be
		}
		if err := f.Missing(); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
