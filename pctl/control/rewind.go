package control

import (
	"encoding/binary"
	"syscall"
	"time"

	"ptools/internal/procfs"
)

// A system call that is interrupted by a tracer's stop is restarted by the kernel,
// except for a few that return EINTR to the program whatever interrupted them
// (signal(7)): epoll_wait, semop, semtimedop, sigtimedwait, the socket calls with a
// timeout. A program that is being looked at must not notice, so such a thread is
// moved back in front of its system call and makes it again. Two things need care:
//
//   - A signal of the target's own that reaches the thread before it has made the call
//     again would have interrupted the first one. Then the EINTR is put back. That a
//     signal is pending says nothing: one for the process may go to any thread.
//   - A relative timeout starts again from full. A thread that is met in the same call
//     again and again gets the result of a timeout once the time is up.

// source says where the relative timeout of a call is found.
type source uint8

const (
	inMillis   source = iota // the argument itself, in ms; negative: none
	inTimespec               // the argument points to a struct timespec; null: none
	inReceive                // SO_RCVTIMEO of the socket in the first argument
	inSend                   // its SO_SNDTIMEO
	inRing                   // in struct io_uring_getevents_arg, where the flags say so
)

// timeout describes a call whose relative timeout would begin again.
type timeout struct {
	source source
	arg    int
	result int64 // what the call returns when its time is up
}

const eagain = -int64(syscall.EAGAIN)

// timeouts has the calls of x86-64 that return EINTR at any interruption and have a
// relative timeout. The calls on sockets do so only where the socket has one.
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

// blockedCall is a call that a thread was moved back to.
type blockedCall struct {
	nr       int64
	args     [6]uint64
	pc, sp   uint64
	since    time.Time
	switches uint64 // the thread's voluntary context switches when it was last seen in it
}

// closing is close(2), the one call that must not be made again: whatever it returns
// the descriptor is gone, and its number may be another file's by now (filp_close in
// fs/open.c; a file system over the network or in user space can be interrupted there).
const closing = 3

// again reports whether a call with this result is made again.
func again(nr, result int64) bool { return result == -int64(syscall.EINTR) && nr != closing }

// rewind moves a thread back that our stop made return EINTR.
func (c *Controller) rewind(t *thread) {
	if c.loadRegs(t) != nil || t.rewound.pc != 0 && t.regs.AtSyscall(t.rewound.pc, t.rewound.nr) {
		return // has not run since it was moved back
	}
	t.rewound = rewound{}
	nr, result, ok := t.regs.SyscallReturn()
	if !ok || !again(nr, result) {
		return
	}
	args := t.regs.SyscallArgs()
	if !t.regs.RestartSyscall() {
		return
	}
	t.dirty = true
	t.rewound = rewound{pc: t.regs.PC(), nr: nr}
	c.watchTimeout(t, nr, args)
}

// watchTimeout ends a call whose time is up. How often the thread has slept tells one call from
// the next of its kind. That is read while it stands: as soon as it runs it may sleep again, and
// one time more or less is what tells them apart.
func (c *Controller) watchTimeout(t *thread, nr int64, args [6]uint64) {
	to, timed := timeouts[nr]
	if !timed {
		t.call = blockedCall{}
		return
	}
	now := blockedCall{nr: nr, args: args, pc: t.regs.PC(), sp: t.regs.SP(), since: time.Now()}
	before := t.call
	t.call = blockedCall{}
	st, err := procfs.ReadTaskStatus(c.pidOf(t), t.tid)
	if err != nil {
		return
	}
	now.switches = st.VoluntarySwitches
	// Since it was last seen in the call the thread has slept for that stop and in the call
	// at most, or else it has been elsewhere.
	if !before.same(&now) || now.switches-before.switches > 2 {
		t.call = now
		return
	}
	if limit, ok := c.timeoutOf(to, args); ok && time.Since(before.since) >= limit {
		t.regs.FinishSyscall(to.result)
		t.rewound = rewound{}
		return
	}
	now.since = before.since
	t.call = now
}

func (b *blockedCall) same(o *blockedCall) bool {
	return b.nr == o.nr && b.args == o.args && b.pc == o.pc && b.sp == o.sp && !b.since.IsZero()
}

// timeoutOf returns how long the call was to wait; ok is false for a wait without
// end.
func (c *Controller) timeoutOf(to timeout, args [6]uint64) (time.Duration, bool) {
	switch to.source {
	case inMillis:
		ms := int32(args[to.arg])
		return time.Duration(ms) * time.Millisecond, ms >= 0
	case inTimespec:
		return c.timespec(args[to.arg])
	case inRing:
		return c.ringTimeout(args[3], args[to.arg])
	}
	d, err := procfs.SocketTimeout(c.pid, int(int32(args[to.arg])), to.source == inSend)
	return d, err == nil && d > 0
}

// Flags of io_uring_enter(2).
const (
	ringArgument = 1 << 3 // IORING_ENTER_EXT_ARG: the argument is a struct io_uring_getevents_arg
	ringAbsolute = 1 << 5 // IORING_ENTER_ABS_TIMER: its time is a moment, not a length
	ringInRegion = 1 << 6 // IORING_ENTER_EXT_ARG_REG: it is in memory that was registered
)

// ringTimeout reads the timeout of an io_uring_enter.
func (c *Controller) ringTimeout(flags, arg uint64) (time.Duration, bool) {
	const tsAt = 16 // offset of the pointer to the struct timespec
	if flags&(ringArgument|ringAbsolute|ringInRegion) != ringArgument {
		return 0, false
	}
	ts, err := c.word(arg + tsAt)
	if err != nil {
		return 0, false
	}
	return c.timespec(ts)
}

// timespec reads a struct timespec of the target.
func (c *Controller) timespec(addr uint64) (time.Duration, bool) {
	var b [16]byte
	if addr == 0 {
		return 0, false
	}
	if _, err := c.mem.ReadAt(b[:], int64(addr)); err != nil {
		return 0, false
	}
	sec, nsec := binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:])
	if sec > 1<<31 {
		return 0, false
	}
	return time.Duration(sec)*time.Second + time.Duration(nsec), true
}

// undoRewind gives a thread its EINTR back if a signal reaches it before it has made
// the call again.
func (c *Controller) undoRewind(t *thread) {
	r := t.rewound
	t.rewound = rewound{}
	if r.pc == 0 || c.loadRegs(t) != nil || !t.regs.AtSyscall(r.pc, r.nr) {
		return
	}
	t.regs.FinishSyscall(-int64(syscall.EINTR))
	t.dirty = true
}
