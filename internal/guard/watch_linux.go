package guard

import (
	"os"
	"strconv"
)

// A Watch is what is announced about one target. Its methods are for one goroutine, and those of a
// nil *Watch do nothing. A guard that is lost, or cannot be had, is no error: then the target is as
// safe as without.
type Watch struct {
	guard   *Guard
	pid     int
	id      uint32 // of the address space; 0: nothing was announced yet
	lost    bool
	patches []patch // work space
}

// Watch begins with a target, for which nothing is done before the first Planting. A nil Guard
// returns a nil Watch.
func (g *Guard) Watch(pid int) *Watch {
	if g == nil {
		return nil
	}
	g.join()
	return &Watch{guard: g, pid: pid}
}

// Planting announces that ours is about to be written at addr, where orig is to stand otherwise.
// What was announced for the range before is void.
func (w *Watch) Planting(addr uint64, ours, orig []byte) {
	if w == nil || w.lost {
		return
	}
	w.patches = w.patches[:0]
	for i := range ours {
		if ours[i] != orig[i] {
			w.patches = append(w.patches, patch{addr + uint64(i), ours[i], orig[i]})
		}
	}
	if w.id == 0 && (len(w.patches) == 0 || !w.open()) {
		return
	}
	m := message{op: opReplace, id: w.id, addr: addr, n: uint64(len(ours))}
	for rest := w.patches; ; m.op = opMore {
		n := min(len(rest), mostPatches)
		m.patches, rest = rest[:n], rest[n:]
		w.post(&m)
		if len(rest) == 0 {
			return
		}
	}
}

// Lifted tells that the original bytes stand in [addr, addr+n) again.
func (w *Watch) Lifted(addr, n uint64) {
	if w != nil && w.id != 0 {
		w.post(&message{op: opReplace, id: w.id, addr: addr, n: n})
	}
}

// Forget is for when the target has another address space, or none: all that was announced is void.
func (w *Watch) Forget() {
	if w != nil && w.id != 0 {
		w.post(&message{op: opClose, id: w.id})
		w.id = 0
	}
}

// Close ends the watch: nothing of ours is left in the target.
func (w *Watch) Close() {
	if w != nil {
		w.Forget()
		w.guard.part()
	}
}

// open gives the guard the target's memory.
func (w *Watch) open() bool {
	mem, err := os.OpenFile("/proc/"+strconv.Itoa(w.pid)+"/mem", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer mem.Close()
	id, err := w.guard.open(mem)
	if err != nil {
		w.lost = true
		return false
	}
	w.id = id
	return true
}

// post sends a message. After one that was not sent the guard's knowledge has a gap, and nothing
// more is sent: it lifts what it knows of, where that still stands.
func (w *Watch) post(m *message) {
	if !w.lost && w.guard.post(m) != nil {
		w.lost = true
	}
}
