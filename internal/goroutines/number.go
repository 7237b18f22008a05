package goroutines

import (
	"errors"
	"fmt"

	"ptools/internal/elfsym"
)

// NumberAt returns where the number of a goroutine is in its g, in the program of a file that is mapped with a bias. The program may have just begun, and
// have no goroutine yet: then what its version says is believed.
func NumberAt(f *elfsym.File, bias uint64, m Memory) (off uint64, err error) {
	r, err := runtimeOf(f, bias, m)
	if err == nil {
		return r.layout.g.goid, nil
	}
	if !errors.Is(err, ErrEarly) {
		return 0, err
	}
	table, _ := f.Go() // runtimeOf has found it
	l, ok := tabled(table.Version())
	if !ok {
		l, ok = described(table)
	}
	if !ok {
		return 0, fmt.Errorf("%w: %s is not known, and debug information does not tell", ErrVersion, named(table.Version()))
	}
	return l.g.goid, nil
}
