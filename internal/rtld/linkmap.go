package rtld

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// State is r_state of struct r_debug: what the linker is doing to the list.
type State int32

// The values of <link.h>.
const (
	Consistent State = iota // the change is complete
	Add                     // an object is about to be added
	Delete                  // an object is about to be removed
)

// Object is one link map: an object that the linker has mapped, or is about to map or unmap when the
// state is not Consistent.
type Object struct {
	Name      string // l_name: path it was opened by; empty for glibc's executable. Foreign bytes.
	Base      uint64 // l_addr: run-time minus link-time addresses
	Dynamic   uint64 // l_ld: its dynamic section
	LinkMap   uint64 // address of the link map, the object's identity while it is mapped
	Namespace int    // 0: base; else the dlmopen namespace, in the order of their creation
}

// Bounds of what is read of one process.
const (
	maxObjects    = 1 << 16
	maxNamespaces = 1 << 10
)

// Read returns the state and the objects of all namespaces. The base namespace comes first; each
// namespace is in the linker's order. rdebug is Linker.Debug. If a namespace is being changed, the
// state is that of this namespace.
//
// The list is sure to be complete only if the process is stopped and the state is Consistent. An
// error is ErrNotReady, wraps ErrCorrupt, or comes from mem. With an error Read returns the objects
// read so far.
func Read(mem io.ReaderAt, rdebug uint64) (State, []Object, error) {
	w := walk{mem: mem}
	state, err := namespaces(mem, rdebug, func(ns int, d debug) error { return w.list(d.maps, ns) })
	return state, w.objects, err
}

// ReadState is Read for the state alone.
func ReadState(mem io.ReaderAt, rdebug uint64) (State, error) {
	return namespaces(mem, rdebug, func(int, debug) error { return nil })
}

// namespaces calls visit for the struct r_debug of each namespace.
func namespaces(mem io.ReaderAt, rdebug uint64, visit func(ns int, d debug) error) (State, error) {
	d, err := readDebug(mem, rdebug)
	if err != nil {
		return Consistent, err
	}
	state, chained := d.state, d.version >= 2
	if err := visit(0, d); err != nil || !chained {
		return state, err
	}
	seen := []uint64{rdebug}
	for ns := 1; ns < maxNamespaces; ns++ {
		// If the head has version 2, r_next follows it, and follows each structure in the chain.
		at, err := readWord(mem, seen[ns-1]+debugSize)
		if err != nil || at == 0 {
			return state, err
		}
		if slices.Contains(seen, at) {
			break
		}
		seen = append(seen, at)
		if d, err = readDebug(mem, at); err != nil {
			return state, err
		}
		if state == Consistent {
			state = d.state
		}
		if err := visit(ns, d); err != nil {
			return state, err
		}
	}
	return state, fmt.Errorf("%w: the namespaces form a loop", ErrCorrupt)
}

// debug is struct r_debug.
type debug struct {
	version int32
	maps    uint64 // r_map
	brk     uint64 // r_brk
	state   State
}

// debugSize is the size of struct r_debug, behind which version 2 has r_next.
const debugSize = 40

// readDebug reads a struct r_debug. ErrNotReady: the linker has not filled it.
func readDebug(mem io.ReaderAt, addr uint64) (debug, error) {
	var b [debugSize]byte
	if err := read(mem, b[:], addr); err != nil {
		return debug{}, err
	}
	d := debug{
		version: int32(binary.LittleEndian.Uint32(b[0:])),
		maps:    binary.LittleEndian.Uint64(b[8:]),
		brk:     binary.LittleEndian.Uint64(b[16:]),
		state:   State(binary.LittleEndian.Uint32(b[24:])),
	}
	switch {
	case d.version == 0 && d.maps == 0:
		return d, ErrNotReady
	case d.version < 0 || d.version > 1<<8 || d.state < Consistent || d.state > Delete:
		return d, fmt.Errorf("%w: no r_debug at %#x", ErrCorrupt, addr)
	}
	return d, nil
}

// mapSize is the size of the public part of struct link_map.
const mapSize = 40

// walk follows lists of link maps.
type walk struct {
	mem     io.ReaderAt
	buf     [nameStep]byte
	objects []Object
}

// list appends the objects of one namespace. It checks that each l_prev leads back to the map before,
// which excludes loops in memory that does not change. In memory that changes the bound ends them.
func (w *walk) list(addr uint64, namespace int) error {
	for prev := uint64(0); addr != 0; {
		if len(w.objects) == maxObjects {
			return fmt.Errorf("%w: more than %d objects", ErrCorrupt, maxObjects)
		}
		b := w.buf[:mapSize]
		if err := read(w.mem, b, addr); err != nil {
			return err
		}
		field := func(i int) uint64 { return binary.LittleEndian.Uint64(b[i*word:]) }
		if field(4) != prev {
			return fmt.Errorf("%w: l_prev of %#x is %#x and not %#x", ErrCorrupt, addr, field(4), prev)
		}
		o := Object{Base: field(0), Dynamic: field(2), LinkMap: addr, Namespace: namespace}
		name, next := field(1), field(3)
		if name != 0 {
			var err error
			if o.Name, err = readName(w.mem, name, &w.buf); err != nil {
				return fmt.Errorf("name of the link map at %#x: %w", addr, err)
			}
		}
		w.objects = append(w.objects, o)
		prev, addr = addr, next
	}
	return nil
}
