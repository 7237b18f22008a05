package rtld

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// word is the size of an address; all structures are those of 64-bit processes.
const word = 8

// read fills p from addr. A short read is an error.
func read(mem io.ReaderAt, p []byte, addr uint64) error {
	n, err := mem.ReadAt(p, int64(addr))
	if n == len(p) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("reading %d bytes at %#x: %w", len(p), addr, err)
}

func readWord(mem io.ReaderAt, addr uint64) (uint64, error) {
	var b [word]byte
	err := read(mem, b[:], addr)
	return binary.LittleEndian.Uint64(b[:]), err
}

// maxName bounds how many bytes of a name are read (PATH_MAX of <linux/limits.h>), nameStep how many
// are read at a time.
const (
	maxName  = 4096
	nameStep = 256
)

// readName reads a string that ends with a zero byte, through buf. It reads up to the next multiple
// of nameStep at a time, so it touches no page behind the one in which the string ends. A longer
// string is cut at maxName.
func readName(mem io.ReaderAt, addr uint64, buf *[nameStep]byte) (string, error) {
	var name []byte
	for len(name) < maxName {
		p := buf[:nameStep-addr%nameStep]
		if err := read(mem, p, addr); err != nil {
			return "", err
		}
		if i := bytes.IndexByte(p, 0); i >= 0 && name == nil {
			return string(p[:i]), nil
		} else if i >= 0 {
			return string(append(name, p[:i]...)), nil
		}
		name = append(name, p...)
		addr += uint64(len(p))
	}
	return string(name[:maxName]), nil
}
