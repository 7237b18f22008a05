package bkpt

// An Observer is told what stands in the text in place of the program's own
// bytes. Its methods are called on the control goroutine.
type Observer interface {
	// Planting is called before ours is written at addr, where orig is to
	// stand otherwise; bytes that are equal in both are the program's own.
	// What was said of the range before is void. It must copy what it keeps.
	Planting(addr uint64, ours, orig []byte)
	// Lifted is called when the program's own bytes stand in [addr, addr+n)
	// again, or are gone.
	Lifted(addr, n uint64)
}

// nobody observes a table by default.
type nobody struct{}

func (nobody) Planting(uint64, []byte, []byte) {}
func (nobody) Lifted(uint64, uint64)           {}

// Observe makes o the observer of a table in which nothing is planted yet. An
// exec, and so Forget, goes unsaid: what was observed is gone with the text.
func (t *Table) Observe(o Observer) { t.observer = o }

// plant writes ours to the target's text in place of orig.
func (t *Table) plant(ours, orig []byte, addr uint64) error {
	t.observer.Planting(addr, ours, orig)
	return writeFull(t.mem, ours, addr)
}
