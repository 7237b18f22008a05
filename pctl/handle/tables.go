package handle

import (
	"runtime"
	"sync"
	"weak"

	"ptools/internal/elfsym"
	"ptools/internal/unwind"
)

// tables has the unwind table of every file in use, so that all processes share
// what was compiled of a library. It keeps neither files nor tables alive.
var tables struct {
	mu sync.Mutex
	m  map[weak.Pointer[elfsym.File]]weak.Pointer[unwind.Table]
}

// tableOf returns the one table of a file.
func tableOf(f *elfsym.File) *unwind.Table {
	key := weak.Make(f)
	tables.mu.Lock()
	defer tables.mu.Unlock()
	if t := tables.m[key].Value(); t != nil {
		return t
	}
	t := unwind.NewTable(f)
	w := weak.Make(t)
	if tables.m == nil {
		tables.m = map[weak.Pointer[elfsym.File]]weak.Pointer[unwind.Table]{}
	}
	tables.m[key] = w
	runtime.AddCleanup(t, func(key weak.Pointer[elfsym.File]) {
		tables.mu.Lock()
		defer tables.mu.Unlock()
		if tables.m[key] == w { // not a newer table of the same file
			delete(tables.m, key)
		}
	}, key)
	return t
}
