package perfevent

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A follower updates the table of a filter, by BPF programs at two tracepoints of the scheduler:
//
//   - sched_process_fork is in fork(2), when the child is complete and has not run. The program puts the child of a
//     process that is in the table into the table. So no instruction of the child goes unsampled.
//   - sched_switch is where a thread that has ended gives up its processor for the last time. The program writes the
//     thread's identity and processor time into a buffer that we read. It removes a process from the table when all
//     its threads are ending. Threads of the process that still run then are found by another table, which drops old
//     entries by itself. For a thread that has not ended the program only reads one word. At an earlier moment the
//     processor time would not be final: the kernel adds to it at switches and scheduler ticks, and gives back the
//     memory of a process after sched_process_exit.
//
// The programs need the kernel's types, and ours must be the first PID namespace: they see the numbers of that one.
type follower struct {
	fds   []int  // links, programs, maps
	words []byte // the first word counts children for which the table had no room, the second one lost ends
	ends  ringBuffer

	lastComm [16]byte // name of the end that was read last; lastName is its text
	lastName string
}

// Words of follower.words.
const (
	wordNoRoom = iota
	wordLostEnds
)

// newFollower starts to update the table.
func newFollower(table int, ours pidNamespace) (_ *follower, err error) {
	if ours.ino != firstPIDNamespace {
		return nil, errOtherNamespace
	}
	types, err := readBTF()
	if err != nil {
		return nil, err
	}
	f := new(follower)
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	words, mem, err := newWords(fewWords)
	if err != nil {
		return nil, err
	}
	f.fds, f.words = append(f.fds, words), mem
	ends, err := f.ends.open(ringBufferSize)
	if err != nil {
		return nil, err
	}
	f.fds = append(f.fds, ends)
	forks, err := forkProgram(types, table, words)
	if err != nil {
		return nil, err
	}
	ending, err := newMap(unix.BPF_MAP_TYPE_LRU_HASH, 8, maxEnding, 0)
	if err != nil {
		return nil, err
	}
	f.fds = append(f.fds, ending)
	deaths, err := deathProgram(types, deathMaps{table, ending, ends, words})
	if err != nil {
		return nil, err
	}
	// Ends first: every process that is put into the table must be removed again.
	if err := f.attach(types, "sched_switch", deaths); err != nil {
		return nil, err
	}
	return f, f.attach(types, "sched_process_fork", forks)
}

// attach loads a program, and attaches it to a tracepoint.
func (f *follower) attach(types *btf, tracepoint string, code []instruction) error {
	id := types.find(btfTypedef, "btf_trace_"+tracepoint)
	if id == 0 {
		return fmt.Errorf("%w: no tracepoint %s", errBTF, tracepoint)
	}
	program, err := loadProgram(code, unix.BPF_PROG_TYPE_TRACING, unix.BPF_TRACE_RAW_TP, id)
	if err != nil {
		return os.NewSyscallError("bpf(BPF_PROG_LOAD)", err)
	}
	f.fds = append(f.fds, program)
	attr := struct {
		name       uint64
		program, _ uint32
	}{program: uint32(program)}
	link, err := bpf(unix.BPF_RAW_TRACEPOINT_OPEN, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	if err != nil {
		return os.NewSyscallError("bpf(BPF_RAW_TRACEPOINT_OPEN)", err)
	}
	f.fds = append(f.fds, link)
	return nil
}

// Offsets from the frame pointer of the programs' variables: the number of a process is at varKey.
const (
	varStart = -16
	varEnd   = -72 // struct end
)

// end is what deathProgram writes.
type end struct {
	pid, tid, start, cpu, live uint64
	comm                       [16]byte
}

// fields finds members of structures.
func fields(types *btf, paths map[*field][2]string) error {
	for f, path := range paths {
		m, err := types.member(path[0], path[1])
		if err != nil {
			return err
		}
		*f = m
	}
	return nil
}

// forkProgram makes the program for sched_process_fork(parent, child).
func forkProgram(types *btf, table, words int) ([]instruction, error) {
	var tgid, start field
	if err := fields(types, map[*field][2]string{
		&tgid: {"task_struct", "tgid"}, &start: {"task_struct", "start_time"},
	}); err != nil {
		return nil, err
	}
	p := []instruction{
		{op: bpfLoadDW, dst: 7, src: 1},
		{op: bpfLoadDW, dst: 8, src: 1, off: 8},
		{op: bpfLoadW, dst: 1, src: 7, off: int16(tgid.off)},
		{op: bpfLoadW, dst: 9, src: 8, off: int16(tgid.off)},
		{op: bpfJumpEqReg, dst: 1, src: 9, off: toOut}, // a thread
		{op: bpfStoreW, dst: 10, src: 1, off: varKey},
	}
	p = append(p, find(table)...)
	p = append(p, []instruction{
		{op: bpfJumpEq, dst: 0, off: toOut},
		{op: bpfStoreW, dst: 10, src: 9, off: varKey},
		{op: bpfLoadDW, dst: 1, src: 8, off: int16(start.off)},
		{op: bpfStoreDW, dst: 10, src: 1, off: varStart},
	}...)
	p = append(p, insert(table, varStart)...)
	p = append(p, instruction{op: bpfJumpEq, dst: 0, off: toOut})
	return finish(append(p, count(words, wordNoRoom)...)), nil
}

// maxEnding is how many processes that are ending the table ending holds.
const maxEnding = 4096

// deathMaps are the maps of deathProgram. The values in ending are the times at which processes were made.
type deathMaps struct{ table, ending, ends, words int }

// taskDead is TASK_DEAD of task_struct.__state.
const taskDead = 0x80

// deathProgram makes the program for sched_switch(preempt, previous, next). It leaves an entry whose number belongs to
// another process by now: a process may be waited for, and its number given to another one, before its last thread is
// switched away.
func deathProgram(types *btf, maps deathMaps) ([]instruction, error) {
	var state, tgid, pid, start, leader, signal, live, own, comm field
	if err := fields(types, map[*field][2]string{
		&state: {"task_struct", "__state"}, &tgid: {"task_struct", "tgid"}, &pid: {"task_struct", "pid"},
		&start: {"task_struct", "start_time"}, &leader: {"task_struct", "group_leader"},
		&signal: {"task_struct", "signal"}, &live: {"signal_struct", "live"},
		&own: {"task_struct", "se.sum_exec_runtime"}, &comm: {"task_struct", "comm"},
	}); err != nil {
		return nil, err
	}
	p := []instruction{
		{op: bpfLoadDW, dst: 6, src: 1, off: 8},
		{op: bpfLoadW, dst: 1, src: 6, off: int16(state.off)},
		{op: bpfJumpNe, dst: 1, imm: taskDead, off: toOut},
		{op: bpfLoadW, dst: 7, src: 6, off: int16(tgid.off)},
		{op: bpfStoreW, dst: 10, src: 7, off: varKey},
	}
	again := find(maps.ending)
	p = append(append(p, find(maps.table)...), instruction{op: bpfJumpNe, dst: 0, off: int16(len(again))})
	p = append(append(p, again...), []instruction{
		{op: bpfJumpEq, dst: 0, off: toOut},
		{op: bpfLoadDW, dst: 1, src: 0},
		{op: bpfLoadDW, dst: 2, src: 6, off: int16(leader.off)},
		{op: bpfLoadDW, dst: 8, src: 2, off: int16(start.off)},
		{op: bpfJumpEq, dst: 1, off: 1}, // put into the table by its number
		{op: bpfJumpNeReg, dst: 1, src: 8, off: toOut},
		{op: bpfStoreDW, dst: 10, src: 7, off: varEnd},
		{op: bpfLoadW, dst: 1, src: 6, off: int16(pid.off)},
		{op: bpfStoreDW, dst: 10, src: 1, off: varEnd + 8},
		{op: bpfStoreDW, dst: 10, src: 8, off: varEnd + 16},
		{op: bpfLoadDW, dst: 1, src: 2, off: int16(comm.off)},
		{op: bpfStoreDW, dst: 10, src: 1, off: varEnd + 40},
		{op: bpfLoadDW, dst: 1, src: 2, off: int16(comm.off) + 8},
		{op: bpfStoreDW, dst: 10, src: 1, off: varEnd + 48},
		{op: bpfLoadDW, dst: 1, src: 6, off: int16(own.off)},
		{op: bpfStoreDW, dst: 10, src: 1, off: varEnd + 24},
		{op: bpfLoadDW, dst: 1, src: 6, off: int16(signal.off)},
		{op: bpfLoadW, dst: 9, src: 1, off: int16(live.off)},
		{op: bpfStoreDW, dst: 10, src: 9, off: varEnd + 32},
	}...)
	remove := append(onTable(helperMapDelete, maps.table), insert(maps.ending, varEnd+16)...)
	p = append(p, instruction{op: bpfJumpNe, dst: 9, off: int16(len(remove))})
	p = append(append(p, remove...), []instruction{
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(maps.ends)}, {},
		{op: bpfMovReg, dst: 2, src: 10},
		{op: bpfAddImm, dst: 2, imm: varEnd},
		{op: bpfMovImm, dst: 3, imm: int32(unsafe.Sizeof(end{}))},
		{op: bpfMovImm, dst: 4, imm: ringNoWakeup},
		{op: bpfCall, imm: helperRingOutput},
		{op: bpfJumpEq, dst: 0, off: toOut},
	}...)
	return finish(append(p, count(maps.words, wordLostEnds)...)), nil
}

// name returns the text of a thread's name. It keeps the last text, because few of many processes have different names.
func (f *follower) name(comm *[16]byte) string {
	if *comm != f.lastComm {
		f.lastComm, f.lastName = *comm, unix.ByteSliceToString(comm[:])
	}
	return f.lastName
}

func (f *follower) word(i int) int64 {
	return int64(atomic.LoadUint64((*uint64)(unsafe.Pointer(&f.words[8*i]))))
}

func (f *follower) close() {
	for i := len(f.fds) - 1; i >= 0; i-- { // links first
		unix.Close(f.fds[i])
	}
	f.fds = nil
	if f.words != nil {
		unix.Munmap(f.words)
		f.words = nil
	}
	f.ends.close()
}

// ringNoWakeup is BPF_RB_NO_WAKEUP: no thread waits for records.
const ringNoWakeup = 1

// ringBuffer is the memory of a BPF ring buffer (Documentation/bpf/ringbuf.rst). It has a page with our read position,
// a page with the kernel's write position, and the data. The data is mapped twice, so that a record is never in two parts.
type ringBuffer struct {
	consumer, data []byte
	size           int
}

const ringBufferSize = 1 << 20

func (b *ringBuffer) open(size int) (fd int, err error) {
	b.size = size
	attr := struct{ kind, keySize, valueSize, entries, flags uint32 }{kind: unix.BPF_MAP_TYPE_RINGBUF, entries: uint32(size)}
	fd, err = unlocked(func() (int, error) { return bpf(unix.BPF_MAP_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr)) })
	if err != nil {
		return -1, os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
	}
	page := os.Getpagesize()
	if b.consumer, err = unix.Mmap(fd, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
		b.data, err = unix.Mmap(fd, int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	}
	if err != nil {
		unix.Close(fd)
		b.close()
		return -1, err
	}
	return fd, nil
}

// read calls f with each record.
func (b *ringBuffer) read(f func([]byte)) { b.readSome(math.MaxInt, f) }

// readSome is read for the first records, at most so many.
func (b *ringBuffer) readSome(most int, f func([]byte)) {
	const (
		header  = 8
		busy    = 1 << 31
		discard = 1 << 30
	)
	page := os.Getpagesize()
	at, read := (*uint64)(unsafe.Pointer(&b.consumer[0])), uint64(0)
	written := atomic.LoadUint64((*uint64)(unsafe.Pointer(&b.data[0])))
	for read = atomic.LoadUint64(at); read < written && most > 0; most-- {
		from := uint64(page) + read&uint64(b.size-1)
		size := atomic.LoadUint32((*uint32)(unsafe.Pointer(&b.data[from])))
		if size&busy != 0 {
			break
		}
		n := uint64(size &^ discard)
		if size&discard == 0 && from+header+n <= uint64(len(b.data)) {
			f(b.data[from+header : from+header+n])
		}
		read += (header + n + 7) &^ 7
		atomic.StoreUint64(at, read)
	}
}

func (b *ringBuffer) close() {
	for _, m := range []*[]byte{&b.consumer, &b.data} {
		if *m != nil {
			unix.Munmap(*m)
			*m = nil
		}
	}
}

// each calls tell for each end that there is to read.
func (f *follower) each(tell func(*End)) {
	var e End
	f.ends.read(func(b []byte) {
		if len(b) < int(unsafe.Sizeof(end{})) {
			return
		}
		r := (*end)(unsafe.Pointer(&b[0]))
		e = End{PID: int(r.pid), TID: int(r.tid), Start: time.Duration(r.start), CPU: time.Duration(r.cpu), Last: r.live == 0}
		e.Comm = f.name(&r.comm)
		tell(&e)
	})
}
