package mem

import (
	"encoding/binary"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/patience"
)

// A Patient is a Memory part of which may never come: pages that userfaultfd(2) has to fill, or pages of a file whose file
// system does not answer. The kernel sleeps in a read or write of such a page, and only SIGKILL ends that sleep
// (FAULT_FLAG_KILLABLE). So a goroutine of the Patient's own reads. If it sleeps too long it is left behind, and another
// one takes its place. The pages for which it waits are absent from then on: they are not asked for again before the
// sleep has ended. The error of a call that meets them is ErrAbsent, after the part of the range before them.
//
// A write is not left behind: it would take place later. So the pages are read first, which brings them into memory.
//
// Safe for concurrent use. One call is made at a time.
type Patient struct {
	*Memory

	mu     sync.Mutex
	tables *os.File // /proc/PID/pagemap; nil: not opened yet, or not to be had
	sought bool     // tables has been opened, if it can be
	worker *worker  // nil: none has been needed, or it was left behind
	left   int      // workers that were left behind and have not ended
	absent map[uint64]int
	timer  *time.Timer
	closed bool
}

const (
	// sleepLimit is how long a call may sleep.
	sleepLimit = 50 * time.Millisecond
	// startLimit is how many times as long a call may take that does not sleep: the machine is busy.
	startLimit = 40
	// mostLeft is how many workers may be left behind at a time. After that everything is absent.
	mostLeft = 8
)

// left is how many workers of all Patients were left behind and have not ended. While they are patience.MostLeft, pages that
// are not in the page tables are absent.
var left atomic.Int64

var pageSize = uint64(os.Getpagesize())

// Patiently returns the Patient of a Memory, which it owns.
func (m *Memory) Patiently() *Patient {
	return &Patient{Memory: m, absent: make(map[uint64]int)}
}

// OpenPatient is Open, and Patiently.
func OpenPatient(pid int) (*Patient, error) {
	m, err := Open(pid)
	if err != nil {
		return nil, err
	}
	return m.Patiently(), nil
}

// view is one of the ways to read a Memory.
type view uint8

const (
	ofAll view = iota
	ofUser
	ofBound
)

func (v view) read(m *Memory, b []byte, addr int64) (int, error) {
	switch v {
	case ofUser:
		return m.User().ReadAt(b, addr)
	case ofBound:
		return m.Bound().ReadAt(b, addr)
	}
	return m.ReadAt(b, addr)
}

func (v view) write(m *Memory, b []byte, addr int64) (int, error) {
	if v == ofUser {
		return m.User().WriteAt(b, addr)
	}
	return m.WriteAt(b, addr)
}

// ReadAt is [Memory.ReadAt].
func (p *Patient) ReadAt(b []byte, addr int64) (int, error) { return p.read(ofAll, false, b, addr) }

// WriteAt is [Memory.WriteAt].
func (p *Patient) WriteAt(b []byte, addr int64) (int, error) { return p.write(ofAll, b, addr) }

// PatientView is another view of a Patient, with its own way to read.
type PatientView struct {
	p     *Patient
	v     view
	quick bool
}

// User is [Memory.User].
func (p *Patient) User() *PatientView { return &PatientView{p, ofUser, false} }

// Quick returns a view for a thread while another thread stands still for it. Pages that are in the page tables are read by
// the calling thread, which saves two switches of threads, and so most of the time that the other one stands. A process
// that takes its pages away between the look into the page tables and the read can make the caller sleep.
func (p *Patient) Quick() *PatientView { return &PatientView{p, ofAll, true} }

// QuickUser is Quick for User, and QuickBound for [Memory.Bound].
func (p *Patient) QuickUser() *PatientView  { return &PatientView{p, ofUser, true} }
func (p *Patient) QuickBound() *PatientView { return &PatientView{p, ofBound, true} }

// ReadAt implements io.ReaderAt.
func (v *PatientView) ReadAt(b []byte, addr int64) (int, error) {
	return v.p.read(v.v, v.quick, b, addr)
}

// WriteAt implements io.WriterAt.
func (v *PatientView) WriteAt(b []byte, addr int64) (int, error) { return v.p.write(v.v, b, addr) }

// Close closes the Memory. If a worker still sleeps, the Memory is closed when that has ended.
func (p *Patient) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	if p.worker != nil {
		close(p.worker.jobs)
		<-p.worker.ended
		p.worker = nil
	}
	if p.tables != nil {
		p.tables.Close()
		p.tables = nil
	}
	closed := make(chan struct{})
	go func() { // ends with the last read
		defer close(closed)
		p.Memory.Close()
	}()
	if p.left == 0 {
		select {
		case <-closed:
		case <-time.After(4 * sleepLimit): // a read that was left behind elsewhere
		}
	}
	return nil
}

// Stale is [Memory.Stale].
func (p *Patient) Stale() bool {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	return closed || p.Memory.Stale()
}

// read reads a range, up to an absent page.
func (p *Patient) read(v view, quick bool, b []byte, addr int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, os.ErrClosed
	}
	b, err := p.before(b, addr)
	if len(b) == 0 {
		return 0, err
	}
	if left.Load() >= patience.MostLeft && !p.missing(addr, len(b), nil) {
		return 0, ErrAbsent
	}
	n, e := 0, error(nil)
	if quick && p.missing(addr, len(b), nil) {
		n, e = v.read(p.Memory, b, addr)
	} else if n, e = p.apart(&job{view: v, size: len(b), addr: addr, dst: [][]byte{b}}); e == ErrAbsent {
		if b, _ = p.before(b, addr); len(b) > 0 {
			n, _ = p.apart(&job{view: v, size: len(b), addr: addr, dst: [][]byte{b}})
		}
	}
	if e != nil {
		err = e
	}
	return n, err
}

// write writes a range whose pages come.
func (p *Patient) write(v view, b []byte, addr int64) (int, error) {
	if err := p.bring(addr, len(b)); err != nil {
		return 0, err
	}
	return v.write(p.Memory, b, addr)
}

// bring brings the pages of a range into memory. Its error is ErrAbsent, or nil.
func (p *Patient) bring(addr int64, size int) error {
	p.mu.Lock()
	there := !p.closed && p.left == 0 && size > 0 && p.missing(addr, size, nil)
	p.mu.Unlock()
	if there {
		return nil
	}
	if _, err := p.read(ofAll, false, make([]byte, size), addr); err == ErrAbsent {
		return err
	}
	return nil // the write finds other errors
}

// before cuts a range off at its first absent page.
func (p *Patient) before(b []byte, addr int64) ([]byte, error) {
	if p.left >= mostLeft {
		return nil, ErrAbsent
	}
	if len(p.absent) == 0 {
		return b, nil
	}
	first, last := uint64(addr)/pageSize, (uint64(addr)+uint64(len(b))-1)/pageSize
	for page := first; page <= last; page++ {
		if p.absent[page] > 0 {
			return b[:max(page*pageSize, uint64(addr))-uint64(addr)], ErrAbsent
		}
	}
	return b, nil
}

// missing looks at the pages of a range, and calls each, unless it is nil, for those that are not in the page tables. It
// returns true if it could look, and all are there.
func (p *Patient) missing(addr int64, size int, each func(page uint64)) (none bool) {
	const present, entry, most = 1 << 63, 8, 64
	first, last := uint64(addr)/pageSize, (uint64(addr)+uint64(size)-1)/pageSize
	if !p.sought {
		p.sought = true
		p.tables, _ = os.Open("/proc/" + strconv.Itoa(p.pid) + "/pagemap") // without it no page is known to be there
	}
	none = p.tables != nil
	var entries [most * entry]byte
	for page := first; page <= last; page += most {
		n := 0
		if p.tables != nil {
			n, _ = unix.Pread(int(p.tables.Fd()), entries[:min(last-page+1, most)*entry], int64(page*entry))
		}
		for i := range min(last-page+1, most) {
			if int(i+1)*entry <= n && binary.NativeEndian.Uint64(entries[i*entry:])&present != 0 {
				continue
			}
			if none = false; each == nil {
				return false
			}
			each(page + i)
		}
	}
	return none
}

// apart has a worker read, and copies what it has read. p.mu is held.
func (p *Patient) apart(j *job) (int, error) {
	w := p.worker
	if w == nil {
		w = &worker{jobs: make(chan job, 1), done: make(chan outcome, 1), ended: make(chan struct{})}
		p.worker = w
		go w.run(p.Memory) // ended by Close, which waits, or left behind
	}
	if len(w.buf) < j.size {
		w.buf = make([]byte, j.size)
	}
	w.jobs <- w.own(j)
	if p.timer == nil {
		p.timer = time.NewTimer(sleepLimit)
	} else {
		p.timer.Reset(sleepLimit)
	}
	defer p.timer.Stop()
	for tries := 0; ; tries++ {
		select {
		case o := <-w.done:
			for i, b := range o.dst {
				j.dst[i] = j.dst[i][:copy(j.dst[i], b)]
			}
			return o.n, o.err
		case <-p.timer.C:
			if tries < startLimit && !w.sleeps() {
				p.timer.Reset(sleepLimit)
				continue
			}
			p.leave(w, j)
			return 0, ErrAbsent
		}
	}
}

// leave leaves a worker behind, and makes the pages absent that it may wait for.
func (p *Patient) leave(w *worker, j *job) {
	close(w.jobs)
	p.worker = nil
	p.left++
	left.Add(1)
	var pages []uint64
	if j.addrs == nil { // the ranges of a ReadVec are asked for again, each by itself
		p.missing(j.addr, j.size, func(page uint64) { pages = append(pages, page) })
		if len(pages) == 0 {
			pages = append(pages, uint64(j.addr)/pageSize) // it has come this moment
		}
	}
	for _, page := range pages {
		p.absent[page]++
	}
	go func() { // ends when the call does
		<-w.ended
		p.mu.Lock()
		defer p.mu.Unlock()
		p.left--
		left.Add(-1)
		for _, page := range pages {
			if p.absent[page]--; p.absent[page] == 0 {
				delete(p.absent, page)
			}
		}
	}()
}
