package calls

import (
	"errors"
	"strconv"

	"ptools/internal/elfsym"
	"ptools/internal/goroutines"
	"ptools/internal/perfevent"
)

// regGoroutine is the number of r14, in which Go functions have their g, among the words of a call.
const regGoroutine = 1

// onSystemStack is the text of the key of calls on the stack that a thread has for the runtime: its g has the number 0.
const onSystemStack = "(system stack)"

var errNoGo = errors.New("none of the functions is one of a Go program")

// findNumbers finds out where goroutines have their numbers, if functions of Go are among those that were found.
func (s *Selection) findNumbers() error {
	memory, ok := s.memory.(goroutines.Memory)
	at := map[*elfsym.File]uint64{}
	var why error
	for i := range s.Targets {
		t := &s.Targets[i]
		if t.Err != nil || t.Convention != Go || !ok {
			continue
		}
		off, known := at[t.file]
		if !known {
			var err error
			if off, err = goroutines.NumberAt(t.file, t.entry-t.Start, memory); err != nil {
				why = err
			}
			at[t.file] = off
		}
		t.goid = off
	}
	if why == nil && len(at) == 0 {
		why = errNoGo
	}
	return why
}

// byGoroutine returns the key of calls that are told apart by their goroutines.
func (t *Target) byGoroutine() *resolvedKey {
	if t.goid == 0 {
		return &resolvedKey{kernel: &perfevent.CallKey{Kind: perfevent.KeyNone}}
	}
	number := perfevent.Operand{Word: regGoroutine, Loads: []int32{int32(t.goid)}, Size: 8}
	return &resolvedKey{kernel: &perfevent.CallKey{Kind: perfevent.KeyNumber, Value: number}, goroutine: true}
}

// goroutineName is the text of a goroutine's number.
func goroutineName(n uint64) string {
	if n == 0 {
		return onSystemStack
	}
	return strconv.FormatUint(n, 10)
}

// copies returns what is copied for each call.
func (t *Target) copies() (all perfevent.Copies) {
	if t.layout != nil {
		all = t.layout.copies
	}
	if t.goid != 0 {
		all[perfevent.CopyGoroutine] = perfevent.LoadAt(regGoroutine, int32(t.goid))
	}
	return all
}
