package perfevent

import (
	"bytes"
	"sync"

	"golang.org/x/sys/unix"
)

// What helper functions return if they fail.
var (
	failed = negative(unix.EFAULT)
	full   = negative(unix.E2BIG)
	exists = negative(unix.EEXIST)
	absent = negative(unix.ENOENT)
)

func negative(e unix.Errno) uint64 { return uint64(-int64(e)) }

// call calls a helper function with the arguments in the registers from 1 on.
func (m *machine) call(helper int32) uint64 {
	r := &m.regs
	switch helper {
	case helperTime:
		return m.clock()
	case helperAttachCookie:
		return m.cookie
	case helperPIDTGID:
		return uint64(m.hit.PID)<<32 | uint64(uint32(m.hit.TID))
	case helperCurrentComm:
		if b, _ := m.at(r[1], int(r[2])); len(b) > 0 {
			clear(b)
			copy(b[:len(b)-1], m.comm(m.hit.PID, m.hit.TID))
		}
		return 0
	case helperReadUser:
		b, _ := m.at(r[1], int(r[2]))
		return m.readUser(b, r[3])
	case helperReadUserText:
		b, _ := m.at(r[1], int(r[2]))
		return m.readText(b, r[3])
	case helperReadKernel:
		to, _ := m.at(r[1], int(r[2]))
		from, _ := m.at(r[3], int(r[2]))
		copy(to, from)
		return 0
	case helperMapLookup, helperMapUpdate, helperMapDelete:
		return m.onTable(helper)
	case helperRingOutput:
		b, _ := m.at(r[2], int(r[3]))
		if !m.queue.put(bytes.Clone(b)) {
			return negative(unix.EAGAIN)
		}
		return 0
	case helperRingReserve:
		if !m.queue.has(int(r[2])) {
			return 0
		}
		m.record = make([]byte, r[2])
		return newAddr(regionRecord, 0)
	case helperRingSubmit:
		m.queue.put(m.record)
		m.record = nil
		return 0
	}
	m.fail()
	return 0
}

// readUser reads memory of the process. What cannot be read as a whole is zero, as the kernel has it.
func (m *machine) readUser(b []byte, addr uint64) uint64 {
	if n, _ := m.hit.Memory.ReadAt(b, int64(addr)); n < len(b) {
		clear(b)
		return failed
	}
	return 0
}

// userPage is the size of what is readable as a whole or not at all.
const userPage = 4 << 10

// readText reads a text with its zero byte, and returns its length with that. A longer one than there is room for is cut.
func (m *machine) readText(b []byte, addr uint64) uint64 {
	for at := 0; at < len(b); {
		n := min(len(b)-at, userPage-int((addr+uint64(at))%userPage))
		if read, _ := m.hit.Memory.ReadAt(b[at:at+n], int64(addr)+int64(at)); read < n {
			clear(b)
			return failed
		}
		if end := bytes.IndexByte(b[at:at+n], 0); end >= 0 {
			clear(b[at+end:])
			return uint64(at + end + 1)
		}
		at += n
	}
	if len(b) == 0 {
		return failed
	}
	b[len(b)-1] = 0
	return uint64(len(b))
}

// A table is a hash table with a bound. Its values do not move.
type table struct {
	number  int // its region
	key     int // sizes
	size    int
	most    int
	numbers map[string]uint32
	values  [][]byte
	free    []uint32
}

func newMachineTable(number, key, size, most int) *table {
	return &table{number: number, key: key, size: size, most: most, numbers: map[string]uint32{}}
}

// value returns a value by its number.
func (t *table) value(n uint32) []byte {
	if int(n) >= len(t.values) {
		return nil
	}
	return t.values[n]
}

// insert makes a value for a key that has none.
func (t *table) insert(key string) []byte {
	if len(t.numbers) >= t.most {
		return nil
	}
	n := uint32(len(t.values))
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		t.values = append(t.values, make([]byte, t.size))
	}
	t.numbers[key] = n
	return t.values[n]
}

// onTable calls a helper with a table, a key and, for an update, a value and flags.
func (m *machine) onTable(helper int32) uint64 {
	t := m.tables[int(m.regs[1])]
	if t == nil {
		m.fail()
		return 0
	}
	key, _ := m.at(m.regs[2], t.key)
	n, there := t.numbers[string(key)]
	switch {
	case helper == helperMapLookup && there:
		return newAddr(t.number, n)
	case helper == helperMapLookup:
		return 0
	case helper == helperMapDelete && there:
		delete(t.numbers, string(key))
		t.free = append(t.free, n)
		return 0
	case helper == helperMapDelete:
		return absent
	case there && m.regs[4] == updateIfAbsent:
		return exists
	}
	from, _ := m.at(m.regs[3], t.size)
	var to []byte
	if there {
		to = t.values[n]
	} else if to = t.insert(string(key)); to == nil {
		return full
	}
	copy(to, from)
	return 0
}

// A queue has the reports that were not read yet.
type queue struct {
	mu      sync.Mutex
	most    int // bytes
	size    int
	records [][]byte
}

// perRecord is what the kernel's ring takes for a record beside that.
const perRecord = 8

// has reports whether there is room for a record. Nothing else writes.
func (q *queue) has(size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return size >= 0 && size <= q.most && q.size+size+perRecord <= q.most
}

// put appends a record if there is room.
func (q *queue) put(b []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size+len(b)+perRecord > q.most {
		return false
	}
	q.size += len(b) + perRecord
	q.records = append(q.records, b)
	return true
}

// readSome calls f with the first records, at most so many.
func (q *queue) readSome(most int, f func([]byte)) {
	q.mu.Lock()
	records := q.records[:min(most, len(q.records))]
	q.records = q.records[len(records):]
	for _, b := range records {
		q.size -= len(b) + perRecord
	}
	q.mu.Unlock()
	for _, b := range records {
		f(b)
	}
}
