package guard

import "os"

// A Watch is what is guarded of one target. Its methods are for one goroutine, and those of a nil
// *Watch do nothing. A guard that cannot be had is no error here: then the target is as safe as
// without, and Guard.Err says why.
type Watch struct {
	guard   *Guard
	mem     Memory
	file    *os.File // its descriptor, from the first patch on
	records map[uint64]record
}

// record is where a patch stands in the ledger.
type record struct {
	number     int
	ours, orig byte
}

// Watch begins with a target, for which nothing is done before it is bound and something is planted.
// A nil Guard returns a nil Watch.
func (g *Guard) Watch() *Watch {
	if g == nil {
		return nil
	}
	g.join()
	return &Watch{guard: g, records: make(map[uint64]record)}
}

// Bind is called when the target has an address space, and when it has another one: what was planted
// before is gone. nil: it has none any more.
func (w *Watch) Bind(m Memory) {
	if w == nil {
		return
	}
	for _, r := range w.records {
		w.guard.drop(r.number)
	}
	clear(w.records)
	w.mem = m
	if w.file != nil {
		w.file.Close() // only now: the number may soon be another file's
		w.file = nil
	}
}

// Planting announces that ours is about to be written at addr, where orig is to stand otherwise. The
// first one of all starts the guard process. What is known already, as when traps return to the text
// after a stop, costs a look into a map.
func (w *Watch) Planting(addr uint64, ours, orig byte) {
	if w == nil {
		return
	}
	r, known := w.records[addr]
	if known && r.ours == ours && r.orig == orig {
		return
	}
	w.Lifted(addr)
	if ours == orig || !w.open() {
		return
	}
	if n, ok := w.guard.put(patch{uint32(w.file.Fd()), uint64(w.mem.PID()), addr, ours, orig}); ok {
		w.records[addr] = record{n, ours, orig}
	}
}

// Lifted says that the original byte stands at addr again, for good. Of a lift that is only for the
// time of a stop nothing needs to be said: the guard only ever replaces a byte of ours.
func (w *Watch) Lifted(addr uint64) {
	if w == nil {
		return
	}
	if r, known := w.records[addr]; known {
		w.guard.drop(r.number)
		delete(w.records, addr)
	}
}

// Close ends the watch: nothing of ours is left in the target.
func (w *Watch) Close() {
	if w != nil {
		w.Bind(nil)
		w.guard.part()
	}
}

// open makes the descriptor that the guard process writes to, which has it as well.
func (w *Watch) open() bool {
	if w.file == nil && w.mem != nil {
		f, err := w.mem.File()
		if err != nil {
			return false
		}
		w.file = f
	}
	return w.file != nil
}
