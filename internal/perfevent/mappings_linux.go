package perfevent

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mappings notices what a process maps of files as executable memory, and what it makes executable. Any goroutine may call the
// methods. The lock of the records guards it.
type Mappings struct {
	pid  int
	seen map[Mapped]uint64 // by turn: when it was mapped last
	turn uint64
	lost bool
}

// mostMappings bounds what is kept of one process.
const mostMappings = 1 << 14

// records are the kernel's records of what is mapped on the machine, as executable memory. There is one reader for all Mappings: an
// event that has a buffer is that of a processor, or of one thread without those that it makes (perf_mmap).
var records struct {
	sync.Mutex
	wanted map[*Mappings]bool
	reader *mapReader // nil while none is wanted
}

// mapReader has the events of all processors.
type mapReader struct {
	rings []*ring
	ready *os.File      // an epoll descriptor of the events
	over  chan struct{} // closed when the goroutine has ended
}

// mapRing is the size of a buffer, of some 500 records. A reader is woken when an eighth of it is full.
const mapRing = 64 << 10

// WatchMappings notices what a process maps from now on, until Close. It takes the rights of uprobes.
func WatchMappings(pid int) (*Mappings, error) {
	records.Lock()
	defer records.Unlock()
	if records.reader == nil {
		r, err := openMapReader()
		if err != nil {
			return nil, err
		}
		records.reader, records.wanted = r, map[*Mappings]bool{}
	}
	records.reader.read() // what came before is not wanted
	m := &Mappings{pid: pid, seen: map[Mapped]uint64{}}
	records.wanted[m] = true
	return m, nil
}

// Close ends the watch. What was seen is kept.
func (m *Mappings) Close() error {
	records.Lock()
	delete(records.wanted, m)
	r := records.reader
	if len(records.wanted) > 0 || r == nil {
		records.Unlock()
		return nil
	}
	records.reader = nil
	err := r.free()
	records.Unlock() // the goroutine may be waiting for it, and ready.Close for the goroutine
	err = errors.Join(err, r.ready.Close())
	<-r.over
	return err
}

// Turn returns the present moment, for Since.
func (m *Mappings) Turn() uint64 {
	records.Lock()
	defer records.Unlock()
	m.read()
	return m.turn
}

// Since returns what the process has mapped since a Turn, and whether there may have been more.
func (m *Mappings) Since(turn uint64) (list []Mapped, lost bool) {
	records.Lock()
	defer records.Unlock()
	m.read()
	for r, at := range m.seen {
		if at > turn {
			list = append(list, r)
		}
	}
	return list, m.lost
}

// read reads what there is, unless m was closed.
func (m *Mappings) read() {
	if records.wanted[m] {
		records.reader.read()
	}
}

// add notes a mapping.
func (m *Mappings) add(r Mapped) {
	if _, ok := m.seen[r]; !ok && len(m.seen) == mostMappings {
		m.lost = true
		return
	}
	m.turn++
	m.seen[r] = m.turn
}

func openMapReader() (_ *mapReader, err error) {
	cpus, err := onlineCPUs()
	if err != nil {
		return nil, err
	}
	r := &mapReader{over: make(chan struct{})}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err == nil {
		err = unix.SetNonblock(epoll, true) // so that Go's poller takes it
		r.ready = os.NewFile(uintptr(epoll), "perf events")
	}
	for _, cpu := range cpus {
		if err == nil {
			err = r.open(epoll, cpu)
		}
	}
	if err != nil {
		r.free()
		if r.ready != nil {
			r.ready.Close()
		}
		return nil, fmt.Errorf("records of mappings: %w", err)
	}
	go r.follow() // until close, which waits for it
	return r, nil
}

// open adds the event of a processor.
func (r *mapReader) open(epoll, cpu int) error {
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitWatermark, Wakeup: mapRing / 8,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err == unix.ENODEV {
		return nil // it has gone offline
	}
	if err != nil {
		return os.NewSyscallError("perf_event_open", err)
	}
	one, err := newRing(fd, cpu, mapRing)
	if err != nil {
		unix.Close(fd)
		return os.NewSyscallError("mmap", err)
	}
	one.follow = true
	r.rings = append(r.rings, one)
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN}))
}

// follow reads whenever a buffer fills. It ends by close.
func (r *mapReader) follow() {
	defer close(r.over)
	raw, err := r.ready.SyscallConn()
	if err != nil {
		return
	}
	var events [16]unix.EpollEvent
	_ = raw.Read(func(fd uintptr) (over bool) { // ends with an error
		for n, err := 1, error(nil); n > 0 && err == nil; {
			n, err = unix.EpollWait(int(fd), events[:], 0)
		}
		records.Lock()
		defer records.Unlock()
		r.read()
		return false
	})
}

// read gives what there is to the Mappings that it is for. The caller has the lock of the records.
func (r *mapReader) read() {
	var record Record
	for _, one := range r.rings {
		for one.begin(); one.more(); {
			if !one.take(&record) || record.Kind != Map || record.Mapped.Inode == 0 {
				continue
			}
			for m := range records.wanted {
				if m.pid == record.PID {
					m.add(record.Mapped)
				}
			}
		}
		if one.lost > 0 {
			one.lost = 0
			for m := range records.wanted {
				m.lost = true
			}
		}
	}
}

// free closes the events. The caller has the lock of the records.
func (r *mapReader) free() (err error) {
	for _, one := range r.rings {
		err = errors.Join(err, one.close())
	}
	r.rings = nil
	return err
}
