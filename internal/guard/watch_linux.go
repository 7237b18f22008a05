package guard

import "os"

// A Watch has the guarded traps of one target. Its methods are for one goroutine. Those of a nil *Watch
// do nothing. It is no error here if there can be no guard: the target is then as safe as without one,
// and Guard.Err says why.
type Watch struct {
	guard   *Guard
	mem     Memory
	file    *os.File // its descriptor, from the first patch on
	records map[uint64]record
}

// record is the record of a patch in the ledger.
type record struct {
	number     int
	ours, orig byte
}

// Watch returns a Watch for a new target. Nothing is done for it before it is bound and a trap is planted.
// A nil Guard returns a nil Watch.
func (g *Guard) Watch() *Watch {
	if g == nil {
		return nil
	}
	g.join()
	return &Watch{guard: g, records: make(map[uint64]record)}
}

// Bind is called when the target has an address space, and when it has another one. The traps that were
// planted before are gone then. nil: the target has no address space any more.
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

// Planting announces that the byte ours is about to be written at addr, in place of orig. The first
// Planting of all starts the guard process. A trap that is recorded already, as when traps return to the
// text after a stop, costs a look into a map.
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

// Lifted announces that the original byte is at addr again, for good. A lift for the time of a stop need
// not be announced: the guard only replaces bytes of ours.
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

// open makes the descriptor that the guard process writes to. The guard process shares it.
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
