package sample

import (
	"ptools/internal/intern"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/unwind"
)

// The kernel shows the system call of a thread only to the owner of the file
// /proc/PID/task/TID/syscall, and to a reader that may read the files of others. A sampler with
// CAP_SYS_PTRACE and nothing else is neither. Every process may read the thread's
// state, its schedstat line and, with the right to trace, the kernel function that it sleeps in.
// If no more is known of a blocked thread, it shows that function. It is stopped, once, only if
// the function belongs to calls that a stop does not harm.

// unharmed lists functions of the kernel, from Linux 4.19 to 6.18, in which a thread sleeps for a call that
// restarts by itself, and has transferred nothing yet.
var unharmed = map[string]bool{
	"futex_wait_queue_me": true, "futex_wait_queue": true, "futex_do_wait": true, "futex_wait_multiple": true,
	"hrtimer_nanosleep": true, "do_nanosleep": true, "common_nsleep": true,
	"__do_sys_pause": true, "__x64_sys_pause": true, "sigsuspend": true,
	"poll_schedule_timeout": true, "do_sys_poll": true, "do_select": true,
	"do_wait": true, "kernel_wait4": true, "do_wait4": true,
	"pipe_read": true, "anon_pipe_read": true,
}

// concealed stands for a system call that may not be read.
var concealed = procfs.Syscall{Nr: -1}

// examineHidden examines a thread whose system call may not be read.
func (o *outside) examineHidden(t *thread) {
	for range passiveTries {
		stat, err := t.files.Stat()
		if err != nil {
			o.p.roster.lose(t)
			return
		}
		asleep := asleepIn(stat.State)
		where := ""
		if asleep {
			where, _ = t.files.WaitChannel() // without it less is shown
		}
		after, err := t.files.SchedStat()
		switch {
		case err != nil:
			o.p.roster.lose(t)
			return
		case stat.State == 'Z' || stat.State == 'X':
			t.turn.verdict, t.blocked.know = skipped, moving // a dead leader whose threads live on
			o.p.account.leave(t)
			o.p.activity.stir(t)
			return
		case !asleep && o.p.sampler.opt.Ticks != nil:
			o.p.ticking.runs(t)
			return
		case !asleep:
			o.p.want(t)
			return
		case after == t.usage.now:
			o.acceptHidden(t, stat.State, where)
			return
		}
		o.p.activity.saw(t, after)
	}
	o.levels = append(o.levels[:0], o.waiting(""))
	t.blocked.know, t.blocked.call = moving, concealed
	o.p.took(t, unwind.Unreadable)
}

// asleepIn reports whether a thread in a state is blocked.
func asleepIn(state byte) bool {
	switch state {
	case 'S', 'D', 'T', 't', 'I', 'P':
		return true
	}
	return false
}

// acceptHidden makes a function of the kernel the thread's stack, or has the thread stopped for its real stack.
func (o *outside) acceptHidden(t *thread, state byte, where string) {
	if o.isLook(t, state) {
		return
	}
	if t.blocked.know == disturbed && t.blocked.where == where && t.explained(t.blocked.call, t.usage.now) {
		t.blocked.know, t.blocked.sched, t.turn.verdict = still, t.usage.now, keep
		return
	}
	t.blocked.call, t.blocked.state, t.blocked.where = concealed, state, where
	t.blocked.sched, t.blocked.know = t.usage.now, still
	if state == 't' && !t.blocked.inTrace {
		t.blocked.know = moving // see halted
	}
	level := o.waiting(where)
	if o.halted(t, state) {
		level = o.p.sampler.stopped
	}
	t.blocked.inTrace = state == 't'
	t.lastRegs.partial, t.lastRegs.pc, t.lastRegs.sp = true, 0, 0
	o.levels = append(o.levels[:0], level)
	o.p.sampler.cost.Passive++
	o.p.took(t, unwind.Unreadable)
	if state == 'S' && unharmed[where] && o.p.sampler.opt.Ticks == nil && !o.p.looking.over && !o.p.looking.waryOf(t) {
		t.blocked.know = moving // what is known stands until the look succeeds
		o.p.want(t)
	}
}

// waiting returns the level that stands for sleeping in a function of the kernel, "" if it is not known.
func (o *outside) waiting(where string) profile.Addr {
	return intern.Value(o.waits, where, func() profile.Addr {
		if where == "" {
			return o.p.sampler.profile.Note("[waiting]")
		}
		return o.p.sampler.profile.Note("[waiting: " + where + "]")
	})
}

// stillThere reports whether a blocked thread that is about to be stopped still sleeps where a stop does no harm.
func (t *thread) stillThere() bool {
	if t.blocked.call == concealed {
		if where, err := t.files.WaitChannel(); err != nil || where != t.blocked.where {
			return false
		}
	}
	sched, err := t.files.SchedStat()
	return err == nil && sched == t.usage.now
}

// nowAsleep is Syscall for a thread that is about to be stopped because it runs. If the call may not be read,
// the state says whether the thread is in one.
func (t *thread) nowAsleep() (call procfs.Syscall, asleep bool) {
	call, err := t.files.Syscall()
	if err == nil {
		return call, !call.Running
	}
	stat, err := t.files.Stat()
	return concealed, err == nil && asleepIn(stat.State)
}
