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
//     calling convention. A timeout in memory, or of the socket, is changed until the thread is in
//     its call again, for some ten microseconds, and is then restored.
//
// Where that is not possible, for instance in memory that the target may not write to, the
// call gets its full time. If it is interrupted again after its time is up, it gets the result of a timeout.
// At least 10 ms are lent (leastLent).

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

// timeouts lists the calls of x86-64 that return EINTR at any interruption and have a
// relative timeout. The calls on sockets do so only where the socket has a timeout.
var timeouts = map[int64]timeout{
	232: {inMillis, 3, 0},                         // epoll_wait
	281: {inMillis, 3, 0},                         // epoll_pwait
	441: {inTimespec, 3, 0},                       // epoll_pwait2
	208: {inTimespec, 4, 0},                       // io_getevents
	333: {inTimespec, 4, 0},                       // io_pgetevents
	426: {inRing, 4, -int64(syscall.ETIME)},       // io_uring_enter
	220: {inTimespec, 3, eagain},                  // semtimedop
	128: {inTimespec, 2, eagain},                  // rt_sigtimedwait
	0:   {inReceive, 0, eagain},                   // read
	19:  {inReceive, 0, eagain},                   // readv
	45:  {inReceive, 0, eagain},                   // recvfrom
	47:  {inReceive, 0, eagain},                   // recvmsg
	299: {inReceive, 0, eagain},                   // recvmmsg
	43:  {inReceive, 0, eagain},                   // accept
	288: {inReceive, 0, eagain},                   // accept4
	1:   {inSend, 0, eagain},                      // write
	20:  {inSend, 0, eagain},                      // writev
	44:  {inSend, 0, eagain},                      // sendto
	46:  {inSend, 0, eagain},                      // sendmsg
	307: {inSend, 0, eagain},                      // sendmmsg
	42:  {inSend, 0, -int64(syscall.EINPROGRESS)}, // connect
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
	to, timed := timeouts[nr]
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

// leastLent is the shortest time that is lent: the loan has to be repaid before the call returns,
// when the program could see it.
const leastLent = 10 * time.Millisecond

// loan is a timeout that is changed until a thread is in its call.
type loan struct{ repay func() }

// grant gives a call that is about to be made again what is left of its time. repay has to be
// called when the thread runs.
func (k *Calls) grant(t *Thread) loan {
	b := &t.call
	if t.rewound.pc == 0 || b.deadline == 0 || k.g.LoadRegs(t) != nil || !t.Regs.AtSyscall(t.rewound.pc, t.rewound.nr) {
		return loan{}
	}
	b.note(t.TID)
	t.Regs.Mark()
	t.Known = RegsChanged
	left := max(b.deadline-procfs.Monotonic(), 0)
	if b.source == inMillis {
		t.Regs.SetSyscallArg(b.arg, uint64((left+time.Millisecond-1)/time.Millisecond))
		return loan{}
	}
	if left == 0 {
		t.Regs.FinishSyscall(b.result)
		t.rewound = rewound{}
		return loan{}
	}
	left = max(left, leastLent)
	var back func()
	switch b.source {
	case inTimespec:
		back = k.lendTimespec(b.args[b.arg], left)
	case inRing:
		back = k.lendTimespec(k.ringTimespec(b.args[3], b.args[b.arg]), left)
	default:
		back = k.lendSocket(b, left)
	}
	if back != nil {
		k.g.Alert.Thread.On() // it is to be repaid before the call returns
	}
	return loan{back}
}

// lendTimespec changes a struct timespec of the target, and returns the function that undoes that; nil if it
// cannot be changed.
func (k *Calls) lendTimespec(addr uint64, left time.Duration) (back func()) {
	var own, lent [16]byte
	if _, err := k.g.Memory.User.ReadAt(own[:], int64(addr)); err != nil {
		return nil
	}
	binary.LittleEndian.PutUint64(lent[:], uint64(left/time.Second))
	binary.LittleEndian.PutUint64(lent[8:], uint64(left%time.Second))
	if n, err := k.g.Memory.User.WriteAt(lent[:], int64(addr)); err != nil {
		if n > 0 {
			k.g.Memory.User.WriteAt(own[:n], int64(addr))
		}
		return nil
	}
	user := k.g.Memory.User
	return func() { user.WriteAt(own[:], int64(addr)) }
}

// lendSocket changes the timeout of the socket, and returns the function that undoes that; nil if it cannot be changed.
func (k *Calls) lendSocket(b *blockedCall, left time.Duration) (back func()) {
	s, err := procfs.OpenSocket(k.g.PID, int(int32(b.args[b.arg])))
	if err != nil {
		return nil
	}
	own, err := s.Timeout(b.option())
	if err != nil || own == 0 || s.SetTimeout(b.option(), left) != nil {
		s.Close()
		return nil
	}
	return func() {
		s.SetTimeout(b.option(), own)
		s.Close()
	}
}

// repaySoon bounds how long repay waits for a thread that gets no processor.
const repaySoon = 50 * time.Millisecond

// repay undoes a loan when the thread is in its call or elsewhere.
func (k *Calls) repay(t *Thread, l loan) {
	if l.repay == nil {
		return
	}
	defer k.g.Alert.Thread.Off()
	defer l.repay()
	pid, after := k.g.PIDOf(t), t.call.pc+ptrace.SyscallLength
	for start := procfs.Monotonic(); procfs.Monotonic()-start < repaySoon; {
		call, err := procfs.ReadSyscall(pid, t.TID)
		if err != nil || !call.Running && call.PC != t.call.pc {
			if err != nil || call.PC != after || call.Nr != t.call.nr {
				return // it has ended, or has been in the call and returned
			}
			if st, err := procfs.ReadTaskStat(pid, t.TID); err != nil || st.State == 'S' {
				return
			}
		}
		ptrace.Doze(20 * time.Microsecond)
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
