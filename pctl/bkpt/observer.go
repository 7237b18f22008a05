package bkpt

// An Observer is notified of the traps that replace the program's own bytes in the
// text, one byte at a time. Its methods are called on the control goroutine.
type Observer interface {
	// Planting is called before the byte ours is written at addr, in place of
	// orig. It replaces earlier calls for that address. It is called again
	// whenever a trap returns to the text.
	Planting(addr uint64, ours, orig byte)
	// Lifted is called when nothing of ours is at addr any more, for good. It is
	// not called for traps that leave the text for the time of a stop, nor at an
	// exec (Forget).
	Lifted(addr uint64)
}

// unobserved is the default observer of a table. It does nothing.
type unobserved struct{}

func (unobserved) Planting(uint64, byte, byte) {}
func (unobserved) Lifted(uint64)               {}

// Observe makes o the observer of a table in which nothing is planted yet.
func (t *Table) Observe(o Observer) { t.observer = o }

// replace writes ours to the target's text in place of orig.
func (t *Table) replace(ours, orig []byte, addr uint64) error {
	for i := range ours {
		if a := addr + uint64(i); ours[i] != orig[i] {
			t.observer.Planting(a, ours[i], orig[i])
		} else {
			t.observer.Lifted(a)
		}
	}
	return writeFull(t.mem, ours, addr)
}
