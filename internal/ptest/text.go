package ptest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TextIntact fails the test if a byte of an executable file-backed mapping of the process differs
// from the file: a patched byte was left behind. The process may run, load, unload, exec and end
// meanwhile, because only a difference that is seen twice, with the same mappings, counts.
func TextIntact(t testing.TB, pid int) {
	t.Helper()
	const tries = 50
	for range tries {
		text, found, err := textDiffers(pid, anyByte)
		switch {
		case err != nil || text == "":
			return // it has ended: no text is left
		case found == "":
			return
		}
		if again, same, err := textDiffers(pid, anyByte); err == nil && again == text && same == found {
			t.Errorf("ptest: process %d: %s", pid, found)
			return
		}
	}
	t.Logf("ptest: process %d changes its mappings too fast for its text to be compared", pid)
}

// HasTraps reports whether the text of a process has an int3 instruction that is not in its file.
// Copies of instructions in places without code of the program do not count.
func HasTraps(pid int) bool {
	_, found, err := textDiffers(pid, func(have byte) bool { return have == 0xCC })
	return err == nil && found != ""
}

func anyByte(byte) bool { return true }

// textDiffers returns the executable mappings, and the first difference from their files that matters.
// The error says that the process is gone.
func textDiffers(pid int, matters func(have byte) bool) (text, found string, err error) {
	proc := "/proc/" + strconv.Itoa(pid)
	mem, err := os.Open(proc + "/mem") // stays bound to the present address space
	if err != nil {
		return "", "", err
	}
	defer mem.Close()
	maps, err := os.ReadFile(proc + "/maps")
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(string(maps)) {
		m, ok := parseText(line)
		if !ok {
			continue
		}
		text += line
		if found == "" {
			found = m.compare(proc, mem, matters)
		}
	}
	return text, found, nil
}

// mapping is an executable file-backed mapping.
type mapping struct {
	start, end, off uint64
	rng, path       string // as the kernel prints them
}

func parseText(line string) (mapping, bool) {
	f := strings.Fields(line)
	if len(f) < 6 || len(f[1]) < 3 || f[1][2] != 'x' || f[4] == "0" {
		return mapping{}, false
	}
	m := mapping{rng: f[0], path: line[strings.IndexByte(line, '/'):]}
	m.path = strings.TrimSuffix(strings.TrimSuffix(m.path, "\n"), " (deleted)")
	_, err := fmt.Sscanf(f[0]+" "+f[2], "%x-%x %x", &m.start, &m.end, &m.off)
	return m, err == nil
}

// compare describes the first byte of the mapping that differs from the file and matters. A byte that cannot be read,
// because the mapping is gone or reaches past the end of the file, does not differ.
func (m mapping) compare(proc string, mem *os.File, matters func(have byte) bool) string {
	f, err := os.Open(proc + "/map_files/" + m.rng) // the very file, also if it was deleted
	if errors.Is(err, fs.ErrPermission) {
		f, err = os.Open(proc + "/root" + m.path)
	}
	if err != nil {
		return ""
	}
	defer f.Close()
	const chunk = 1 << 16
	var want, have [chunk]byte
	for addr := m.start; addr < m.end; addr += chunk {
		n := int(min(chunk, m.end-addr))
		w, _ := f.ReadAt(want[:n], int64(m.off+addr-m.start)) // short at the end of the file
		h, err := mem.ReadAt(have[:n], int64(addr))
		if err != nil && err != io.EOF {
			return ""
		}
		n = min(w, h)
		if bytes.Equal(want[:n], have[:n]) {
			continue
		}
		for i := range n {
			if want[i] != have[i] && matters(have[i]) {
				return fmt.Sprintf("text of %s differs at %#x: %#02x in memory, %#02x in the file", m.path, addr+uint64(i), have[i], want[i])
			}
		}
	}
	return ""
}
