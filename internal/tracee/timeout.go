package tracee

import (
	"encoding/binary"
	"syscall"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// A call that is made again is given what is left of its timeout. It ends as if it had begun when it was first
// interrupted:
//
//   - A call may have been made again before, after an earlier stop, perhaps of another tracer. So a note of the call's
//     end is left with the thread (ptrace.SetNote). The moment when the wait itself began is not known: the scheduler's
//     clock, in se.exec_start, leaves out the time that the host of a virtual machine takes. Calls that were measured
//     with it ended too early.
//   - A timeout that is an argument is changed in its register, which a call may change by the
//     calling convention.
//
// A timeout in memory, or of the socket, is the program's, and stays as it is: if we were killed before it was put back, the
// program would have another one. Such a call gets its full time again. If it is interrupted after its time is up, it gets
// the result of a timeout.

// source says where the relative timeout of a call is.
type source uint8

const (
	inMillis   source = iota // the argument itself, in ms; negative: none
	inTimespec               // the argument points to a struct timespec; null: none
	inReceive                // SO_RCVTIMEO of the socket in the first argument
	inSend                   // its SO_SNDTIMEO
	inRing                   // in struct io_uring_getevents_arg, where the flags say so
)

// timeout describes a call whose relative timeout would start again in full.
type timeout struct {
	source source
	arg    int
	result int64 // what the call returns when its time is up
}

const eagain = -int64(syscall.EAGAIN)

// timeouts lists the calls that return EINTR at any interruption and have a
// relative timeout. The calls on sockets do so only where the socket has a timeout.
var timeouts = map[string]timeout{
	"epoll_wait":      {inMillis, 3, 0},
	"epoll_pwait":     {inMillis, 3, 0},
	"epoll_pwait2":    {inTimespec, 3, 0},
	"io_getevents":    {inTimespec, 4, 0},
	"io_pgetevents":   {inTimespec, 4, 0},
	"io_uring_enter":  {inRing, 4, -int64(syscall.ETIME)},
	"semtimedop":      {inTimespec, 3, eagain},
	"rt_sigtimedwait": {inTimespec, 2, eagain},
	"read":            {inReceive, 0, eagain},
	"readv":           {inReceive, 0, eagain},
	"recvfrom":        {inReceive, 0, eagain},
	"recvmsg":         {inReceive, 0, eagain},
	"recvmmsg":        {inReceive, 0, eagain},
	"accept":          {inReceive, 0, eagain},
	"accept4":         {inReceive, 0, eagain},
	"write":           {inSend, 0, eagain},
	"writev":          {inSend, 0, eagain},
	"sendto":          {inSend, 0, eagain},
	"sendmsg":         {inSend, 0, eagain},
	"sendmmsg":        {inSend, 0, eagain},
	"connect":         {inSend, 0, -int64(syscall.EINPROGRESS)},
}

// option returns the socket option that sets the timeout.
func (to timeout) option() int {
	if to.source == inSend {
		return procfs.SendTimeout
	}
	return procfs.ReceiveTimeout
}

// blockedCall is a call with a timeout, in front of which a thread was moved back.
type blockedCall struct {
	timeout
	nr       int64
	args     [6]uint64 // as the program has them
	pc, sp   uint64
	limit    time.Duration // how long the call waits by its present arguments
	deadline time.Duration // when it ends, by CLOCK_MONOTONIC
}

// noteTimeout finds the deadline of a call that is made again. A mark in the thread's flags
// shows that the call was made again before, and is not another one of its kind: only such
// a call has the mark.
func (k *Calls) noteTimeout(t *Thread, nr int64, args [6]uint64) {
	before, now := t.call, procfs.Monotonic()
	t.call = blockedCall{}
	to, timed := timeouts[procfs.SyscallName(nr)]
	if !timed {
		return
	}
	limit, timed := k.timeoutOf(to, args)
	if !timed {
		return
	}
	b := blockedCall{timeout: to, nr: nr, args: args, pc: t.Regs.PC(), sp: t.Regs.SP(), limit: limit}
	again := t.Regs.Marked()
	if again && before.same(&b) {
		b.deadline, b.args = before.deadline, before.args
	} else if end, ok := b.noted(t.TID, now); again && ok {
		b.deadline = end
	} else {
		b.deadline = now + limit
	}
	t.call = b
}

// same reports whether o is the same call, interrupted again.
func (b *blockedCall) same(o *blockedCall) bool {
	return b.deadline != 0 && b.nr == o.nr && b.fixed() == o.fixed() && b.pc == o.pc && b.sp == o.sp
}

// fixed returns the arguments without the one that changes when the call is given what is left of its time.
func (b *blockedCall) fixed() [6]uint64 {
	args := b.args
	if b.source == inMillis {
		args[b.arg] = 0
	}
	return args
}

// A note has the end of a call in milliseconds, in noteEnd bits, and a checksum of noteTag bits that
// identifies the call.
const (
	noteEnd = 32
	noteTag = 16
)

// tag returns the checksum of a call.
func (b *blockedCall) tag() uint64 {
	args := b.fixed()
	h := uint64(14695981039346656037) // FNV-1a, by words
	for _, v := range append(args[:], b.pc, b.sp, uint64(b.nr)) {
		h = (h ^ v) * 1099511628211
	}
	return h >> (64 - noteTag) << (noteEnd - noteTag)
}

// note leaves the end of a call with its thread.
func (b *blockedCall) note(tid int) {
	ms := (b.deadline + time.Millisecond - 1) / time.Millisecond
	ptrace.SetNote(tid, uint64(uint32(ms))<<noteEnd|b.tag())
}

// noted returns the end of a call that another tracer has left with its thread.
func (b *blockedCall) noted(tid int, now time.Duration) (time.Duration, bool) {
	note, err := ptrace.Note(tid)
	if err != nil || note&(1<<noteEnd-1) != b.tag() {
		return 0, false
	}
	ms := now / time.Millisecond
	end := (ms + time.Duration(int32(uint32(note>>noteEnd)-uint32(ms)))) * time.Millisecond
	return end, end <= now+b.limit+time.Millisecond // a later end cannot be this call's
}

// takeBack restores the arguments of a call that is not made again.
func (b *blockedCall) takeBack(r *ptrace.Regs) {
	if b.deadline != 0 && b.source == inMillis {
		r.SetSyscallArg(b.arg, b.args[b.arg])
	}
}

// grant gives a call that is about to be made again what is left of its time, as far as it can be had.
func (k *Calls) grant(t *Thread) {
	b := &t.call
	if t.rewound.pc == 0 || b.deadline == 0 || k.g.LoadRegs(t) != nil || !t.Regs.AtSyscall(t.rewound.pc, t.rewound.nr) {
		return
	}
	b.note(t.TID)
	t.Regs.Mark()
	t.Known = RegsChanged
	left := max(b.deadline-procfs.Monotonic(), 0)
	switch {
	case b.source == inMillis:
		t.Regs.SetSyscallArg(b.arg, uint64((left+time.Millisecond-1)/time.Millisecond))
	case left == 0:
		t.Regs.FinishSyscall(b.result)
		t.rewound = rewound{}
	}
}

// timeoutOf returns how long the call was to wait; ok is false for a wait without
// a timeout.
func (k *Calls) timeoutOf(to timeout, args [6]uint64) (time.Duration, bool) {
	switch to.source {
	case inMillis:
		ms := int32(args[to.arg])
		return time.Duration(ms) * time.Millisecond, ms >= 0
	case inTimespec:
		return k.timespec(args[to.arg])
	case inRing:
		return k.timespec(k.ringTimespec(args[3], args[to.arg]))
	}
	s, err := procfs.OpenSocket(k.g.PID, int(int32(args[to.arg])))
	if err != nil {
		return 0, false
	}
	defer s.Close()
	d, err := s.Timeout(to.option())
	return d, err == nil && d > 0
}

// Flags of io_uring_enter(2).
const (
	ringArgument = 1 << 3 // IORING_ENTER_EXT_ARG: the argument is a struct io_uring_getevents_arg
	ringAbsolute = 1 << 5 // IORING_ENTER_ABS_TIMER: its time is a moment, not a length
	ringInRegion = 1 << 6 // IORING_ENTER_EXT_ARG_REG: it is in memory that was registered
)

// ringTimespec returns the address of the timeout of an io_uring_enter, 0 if it has none.
func (k *Calls) ringTimespec(flags, arg uint64) uint64 {
	const tsAt = 16 // offset of the pointer to the struct timespec
	if flags&(ringArgument|ringAbsolute|ringInRegion) != ringArgument {
		return 0
	}
	ts, _ := k.g.Memory.Word(arg + tsAt)
	return ts
}

// timespec reads a struct timespec of the target.
func (k *Calls) timespec(addr uint64) (time.Duration, bool) {
	var b [16]byte
	if addr == 0 {
		return 0, false
	}
	if _, err := k.g.Memory.Mem.ReadAt(b[:], int64(addr)); err != nil {
		return 0, false
	}
	sec, nsec := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
	if sec > 1<<31 || nsec >= 1e9 {
		return 0, false
	}
	return time.Duration(sec)*time.Second + time.Duration(nsec), true
}
