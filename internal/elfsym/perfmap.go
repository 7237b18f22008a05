package elfsym

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"
)

const (
	maxPerfEntries = 1 << 18
	maxPerfNames   = 24 << 20  // bytes of the names of entries
	maxPerfBytes   = 128 << 20 // read in all
	maxPerfLine    = 64 << 10
	maxPerfName    = 4 << 10
	perfEntrySize  = 64 // bytes of an entry in memory, without its name
	perfPiece      = 1 << 20
	perfAgain      = time.Minute // a map that was let go of is read again at no cost so often
)

// ErrPerfMap is the error of a list that is too long.
var ErrPerfMap = errors.New("it has too many functions: those at its beginning have names")

// ErrPerfMapCrowded is the error of a list for which there is no memory.
var ErrPerfMapCrowded = errors.New("files in use have all the memory for names: functions at its beginning have names")

// A PerfMap is the list of functions that a JIT compiler writes to
// /tmp/perf-PID.map, in the format of the kernel's
// tools/perf/Documentation/jit-interface.txt: lines of start and size in
// hexadecimal and a name. Code moves, and its space is used again: of
// overlapping entries the later one wins. The methods may be called from any
// goroutine; the zero PerfMap is empty.
type PerfMap struct {
	mu      sync.RWMutex
	off     int64 // offset up to which the file has been read
	read    int64 // bytes in all
	names   int   // bytes of names
	full    error // why no more is read
	entries []perfEntry
	cover   cover
	ends    [2]mark // the beginning of the file, and its end at off, as they were read
	doubted bool    // it was written to, and may have the same size

	held      *holding  // nil for a list that is not of a Cache
	forgotten time.Time // when it was last let go of
	users     int       // under the lock of the Cache
}

// newPerfMap returns an empty list whose memory is counted.
func newPerfMap() *PerfMap {
	m := &PerfMap{held: newHolding(books)}
	bind(m.held, m, (*PerfMap).forget)
	return m
}

// A mark is what stood at an offset of a file.
type mark struct {
	off  int64
	text string
}

// markSize is how many bytes are compared to find out whether a file was written anew.
const markSize = 128

// stands reports whether it stands there still, as far as the file can be read.
func (m mark) stands(r io.ReaderAt) bool {
	b := make([]byte, len(m.text))
	_, err := r.ReadAt(b, m.off)
	return err != nil && err != io.EOF || string(b) == m.text
}

type perfEntry struct {
	start, size uint64
	name        string
	reused      bool // entries with other names have addresses of it
}

// Refresh reads what has been added to the file of size bytes behind r since
// the last call, up to the end of its last whole line. It reports whether
// anything was added. A file that has shrunk, or has other contents where it began or ended, is read from its start, and its
// earlier contents are forgotten. Refresh stops with ErrPerfMap at 128 MiB in all, and when there are too many
// functions, and with ErrPerfMapCrowded when there is no memory for them. The functions that were read stay.
func (m *PerfMap) Refresh(r io.ReaderAt, size int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if size < m.off || m.off > 0 && (size > m.off || m.doubted) && !(m.ends[0].stands(r) && m.ends[1].stands(r)) {
		m.clear() // it was written anew
		m.read = 0
	}
	m.doubted = false
	changed := false
	var piece []byte
	for m.off < size && m.full == nil && m.read < maxPerfBytes {
		if piece == nil {
			piece = make([]byte, min(size-m.off, perfPiece))
		}
		b := piece[:min(size-m.off, int64(len(piece)))]
		n, err := r.ReadAt(b, m.off)
		if err != nil && err != io.EOF {
			return changed, err
		}
		end := bytes.LastIndexByte(b[:n], '\n') + 1
		if end == 0 && n >= maxPerfLine {
			end = n // no line is that long: leave it out
		}
		if end == 0 {
			break
		}
		m.add(b[:end])
		if m.off == 0 {
			m.ends[0] = mark{0, string(b[:min(end, markSize)])}
		}
		m.off += int64(end)
		last := b[max(0, end-markSize):end]
		m.ends[1] = mark{m.off - int64(len(last)), string(last)}
		m.read += int64(end)
		changed = true
	}
	if m.full == nil && m.read >= maxPerfBytes {
		return changed, ErrPerfMap
	}
	return changed, m.full
}

// Doubt notes that the file was written to since the last Refresh.
func (m *PerfMap) Doubt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubted = true
}

// clear lets go of all entries. The lock is held.
func (m *PerfMap) clear() {
	m.off, m.names, m.full, m.entries, m.cover, m.ends = 0, 0, nil, nil, cover{}, [2]mark{}
	if m.held != nil {
		m.held.release()
	}
}

// forget lets go of all entries, which are then read again when one is needed. It reports false if they are in use.
func (m *PerfMap) forget() bool {
	if !m.mu.TryLock() {
		return false
	}
	defer m.mu.Unlock()
	m.clear()
	if now := time.Now(); now.Sub(m.forgotten) > perfAgain {
		m.read, m.forgotten = 0, now
	}
	return true
}

// take reports whether there is memory for an entry.
func (m *PerfMap) take(e *perfEntry) bool {
	if m.held == nil || m.held.take(int64(perfEntrySize+len(e.name))) {
		return true
	}
	m.held.denied.Store(true)
	m.full = ErrPerfMapCrowded
	return false
}

// add adds the entries of whole lines.
func (m *PerfMap) add(b []byte) {
	for text := unsafe.String(unsafe.SliceData(b), len(b)); len(text) > 0 && m.full == nil; {
		first := len(m.entries)
		for len(text) > 0 && len(m.entries) < maxPerfEntries && m.names < maxPerfNames && m.full == nil {
			var line string
			line, text, _ = strings.Cut(text, "\n")
			if e, ok := parsePerfLine(line); ok && m.take(&e) {
				e.name = strings.Clone(e.name) // b is used again
				m.entries = append(m.entries, e)
				m.names += len(e.name)
			}
		}
		m.settle(first)
	}
}

// settle enters the entries from first on, and makes room if there are many.
func (m *PerfMap) settle(first int) {
	claims := make([]claim, 0, len(m.entries)-first)
	for i := first; i < len(m.entries); i++ {
		e := &m.entries[i]
		claims = append(claims, claim{e.start, e.start + e.size, uint32(i)})
	}
	added := settle(claims)
	m.compare(first, &added)
	m.cover = m.cover.overlay(&added)
	if len(m.entries) >= maxPerfEntries || m.names >= maxPerfNames {
		m.compact()
		if len(m.entries) > maxPerfEntries/2 || m.names > maxPerfNames/2 {
			m.full = ErrPerfMap
		}
	}
}

// mostCompared bounds how many parts of a cover an entry is compared with. One that covers more is taken for one that others
// overlap.
const mostCompared = 64

// compare finds the entries from first on that take addresses of earlier ones. added is their cover.
func (m *PerfMap) compare(first int, added *cover) {
	for i := first; i < len(m.entries); i++ {
		e := &m.entries[i]
		m.compareWith(&m.cover, e, func(uint32) { e.reused = true })
		m.compareWith(added, e, func(owner uint32) { m.entries[owner].reused = true })
	}
}

// compareWith calls tell for the owners in a cover of addresses of an entry that have another name.
func (m *PerfMap) compareWith(c *cover, e *perfEntry, tell func(owner uint32)) {
	at, _ := c.find(e.start)
	for i, n := max(at, 0), 0; i < len(c.starts) && c.starts[i] < e.start+e.size; i, n = i+1, n+1 {
		owner := c.owners[i]
		if owner == unowned || i+1 < len(c.starts) && c.starts[i+1] <= e.start {
			continue
		}
		if m.entries[owner].name != e.name || n == mostCompared {
			tell(owner)
		}
		if n == mostCompared {
			return
		}
	}
}

// Reused reports whether the function that covers a run-time pc has addresses that the list has for functions with other names,
// too. It has no times: which of them was there when is not known.
func (m *PerfMap) Reused(pc uint64) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, ok := m.cover.owner(pc)
	return ok && m.entries[i].reused
}

// compact drops the entries that others have covered completely.
func (m *PerfMap) compact() {
	number := make([]uint32, len(m.entries)) // 0: none yet, else one more
	n := uint32(0)
	for i, o := range m.cover.owners {
		if o == unowned {
			continue
		}
		if number[o] == 0 {
			n++
			number[o] = n
		}
		m.cover.owners[i] = number[o] - 1
	}
	kept := make([]perfEntry, n)
	for i, is := range number {
		if is > 0 {
			kept[is-1] = m.entries[i]
		}
	}
	before := perfEntrySize*len(m.entries) + m.names
	m.entries, m.names = kept, 0
	for i := range kept {
		m.names += len(kept[i].name)
	}
	if m.held != nil {
		m.held.give(int64(before - perfEntrySize*len(kept) - m.names))
	}
}

func parsePerfLine(line string) (perfEntry, bool) {
	start, rest, ok1 := strings.Cut(line, " ")
	size, name, ok2 := strings.Cut(rest, " ")
	a, err1 := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
	n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
	name = strings.TrimSpace(name)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || n == 0 || a+n < a || name == "" {
		return perfEntry{}, false
	}
	return perfEntry{start: a, size: n, name: name[:min(len(name), maxPerfName)]}, true
}

// Lookup returns the function that covers a run-time pc.
func (m *PerfMap) Lookup(pc uint64) (Sym, bool) {
	if m.held != nil {
		m.held.touch()
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	i, ok := m.cover.owner(pc)
	if !ok {
		return Sym{}, false
	}
	e := &m.entries[i]
	return Sym{Name: e.name, Raw: e.name, Addr: e.start, Size: e.size, Kind: JIT}, true
}
