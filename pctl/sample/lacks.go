package sample

import (
	"strings"
	"sync"
)

// mostLacks bounds how many files are told about.
const mostLacks = 1000

// lacks remembers the files that were told about.
type lacks struct {
	mu   sync.Mutex
	told map[string]bool
}

// fresh returns the errors that have not been told, an error a file.
func (l *lacks) fresh(errs []error) (list []error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil {
		l.told = make(map[string]bool)
	}
	for _, err := range errs {
		what, _, _ := strings.Cut(err.Error(), " (and ") // how many files a program lacks grows
		if !l.told[what] && len(l.told) < mostLacks {
			l.told[what] = true
			list = append(list, err)
		}
	}
	return list
}

// Lacks returns what names have lacked since the last call: files that cannot be read, debug information that could not be opened,
// and files whose tables were too much work. Each error names the file, and comes once.
func (s *Sampler) Lacks() []error {
	errs := append(s.files.Refused(), s.files.Missing()...)
	errs = append(append(errs, s.session.UnreadFiles()...), s.session.Missing()...)
	return s.lacks.fresh(errs)
}
