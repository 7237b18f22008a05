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
//   - A signal of the target's own that comes before the thread has made the call
//     again would have interrupted the first one. Then the EINTR is put back.
//   - A relative timeout starts again from full. A thread that is met in the same call
//     again and again gets the result of a timeout once the time is up.

// timeout describes a call whose relative timeout would begin again.
type timeout struct {
	arg    int   // which argument
	millis bool  // the argument itself, in ms; otherwise it points to a timespec
	result int64 // what the call returns when its time is up
}

// timeouts has the calls of x86-64 that return EINTR at any interruption and take a
// relative timeout.
var timeouts = map[int64]timeout{
	232: {3, true, 0},                       // epoll_wait
	281: {3, true, 0},                       // epoll_pwait
	441: {3, false, 0},                      // epoll_pwait2
	220: {3, false, -int64(syscall.EAGAIN)}, // semtimedop
	128: {2, false, -int64(syscall.EAGAIN)}, // rt_sigtimedwait
}

// blockedCall is a call that a thread was moved back to.
type blockedCall struct {
	nr       int64
	args     [6]uint64
	pc, sp   uint64
	since    time.Time
	switches uint64 // the thread's voluntary context switches when it was last seen in it
}

// rewind moves a thread back that our stop made return EINTR.
func (c *Controller) rewind(t *thread) {
	t.rewound = rewound{}
	if c.loadRegs(t) != nil {
		return
	}
	nr, result, ok := t.regs.SyscallReturn()
	if !ok || result != -int64(syscall.EINTR) {
		return
	}
	st, err := procfs.ReadTaskStatus(c.pidOf(t), t.tid)
	if err != nil || (st.SigPnd|st.ShdPnd)&^st.SigBlk != 0 {
		return // a signal of its own has interrupted it, or would
	}
	args := t.regs.SyscallArgs()
	if !t.regs.RestartSyscall() {
		return
	}
	t.dirty = true
	t.rewound = rewound{pc: t.regs.PC(), nr: nr}
	c.watchTimeout(t, nr, args, st.VoluntarySwitches)
}

// watchTimeout ends a call whose time is up.
func (c *Controller) watchTimeout(t *thread, nr int64, args [6]uint64, switches uint64) {
	to, ok := timeouts[nr]
	if !ok {
		t.call = blockedCall{}
		return
	}
	now := blockedCall{nr: nr, args: args, pc: t.regs.PC(), sp: t.regs.SP(), since: time.Now(), switches: switches}
	// Since it was last seen the thread has slept for that stop and in the call: any
	// other number of switches means that it has been elsewhere.
	if t.call.same(&now) && switches-t.call.switches <= 2 {
		now.since = t.call.since
	}
	t.call = now
	limit, ok := c.timeoutOf(to, args)
	if ok && time.Since(now.since) >= limit {
		t.regs.FinishSyscall(to.result)
		t.rewound, t.call = rewound{}, blockedCall{}
	}
}

func (b *blockedCall) same(o *blockedCall) bool {
	return b.nr == o.nr && b.args == o.args && b.pc == o.pc && b.sp == o.sp && !b.since.IsZero()
}

// timeoutOf returns how long the call was to wait; ok is false for a wait without
// end.
func (c *Controller) timeoutOf(to timeout, args [6]uint64) (time.Duration, bool) {
	if to.millis {
		ms := int32(args[to.arg])
		return time.Duration(ms) * time.Millisecond, ms >= 0
	}
	var b [16]byte
	if args[to.arg] == 0 {
		return 0, false
	}
	if _, err := c.mem.ReadAt(b[:], int64(args[to.arg])); err != nil {
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
