package ptrace

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory is the memory of a stopped thread, accessed by ptrace(2) itself, a word at a time.
// That is slower than any other way, but takes no descriptor, and can write text that is
// mapped read-only. Its methods must be called on the tracing thread.
type Memory struct{ TID int }

// wordSize is how many bytes one request moves.
const wordSize = 8

// ReadAt reads len(p) bytes, up to the first word that cannot be read.
func (m Memory) ReadAt(p []byte, addr int64) (n int, err error) {
	for n < len(p) {
		at, skip := split(addr + int64(n))
		word, err := m.peek(at)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], word[skip:])
	}
	return n, nil
}

// WriteAt writes len(p) bytes, up to the first word that cannot be written.
func (m Memory) WriteAt(p []byte, addr int64) (n int, err error) {
	for n < len(p) {
		at, skip := split(addr + int64(n))
		word, err := m.peek(at)
		if err != nil {
			return n, err
		}
		c := copy(word[skip:], p[n:])
		if err := call(unix.PTRACE_POKEDATA, m.TID, at, uintptr(binary.LittleEndian.Uint64(word[:]))); err != nil {
			return n, err
		}
		n += c
	}
	return n, nil
}

// split returns the address of the aligned word that contains addr, and the offset of addr in it.
func split(addr int64) (word uintptr, skip int) {
	return uintptr(addr) &^ (wordSize - 1), int(addr & (wordSize - 1))
}

func (m Memory) peek(at uintptr) (word [wordSize]byte, err error) {
	err = exchange(unix.PTRACE_PEEKDATA, m.TID, at, unsafe.Pointer(&word))
	return word, err
}
