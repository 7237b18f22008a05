package ptrace

import "errors"

// Note returns the note about a stopped thread. This machine has no place for one that the next tracer could read.
func Note(int) (note uint64, err error) { return 0, errors.ErrUnsupported }

// SetNote makes a note about a stopped thread: see Note.
func SetNote(int, uint64) error { return errors.ErrUnsupported }
