package ptrace

import "golang.org/x/sys/unix"

// Alert makes the calling thread run first when other threads wait for it. It gives the thread a
// real-time priority. While the thread sleeps for an event, it also keeps it on the processor that
// the event is expected on. If the thread slept on another processor, that one would have to leave
// its idle state first. On a virtual machine this may take milliseconds, because the host has to
// act. Without the priority other threads might run before it. Threads and processes that the
// thread makes meanwhile are kept on the processor too, but do not have the priority. All methods
// are for that one thread. The zero value is ready.
type Alert struct {
	state alertness
	usual unix.SchedAttr // how the thread is scheduled while the Alert is off
	cpus  unix.CPUSet    // its processors while the Alert is off
	cpu   int            // the processor that it is kept on
}

// alertness is the state of an Alert.
type alertness uint8

const (
	alertNever  alertness = iota // it has not been on: usual and cpus are not known
	alertDenied                  // the program has no right to the priority
	alertOff
	alertOn
	alertKept // on, and the thread stays on cpu
)

var alertnessNames = [...]string{"never", "denied", "off", "on", "kept"}

func (a alertness) String() string { return alertnessNames[a] }

// alertPriority is the lowest real-time priority. Those of package guard are above it.
const alertPriority = 1

// On gives the thread the priority. It does nothing if the program has no right to real-time
// priorities, or has chosen how it is scheduled.
func (a *Alert) On() {
	if a.state >= alertOn || a.state == alertDenied {
		return
	}
	attr := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: alertPriority,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK,
	}
	if a.state == alertNever && !a.learn() || unix.SchedSetAttr(0, &attr, 0) != nil {
		a.state = alertDenied
		return
	}
	a.state = alertOn
}

// Keep moves the thread to a processor until Off, if the thread may run there at all.
func (a *Alert) Keep(cpu int) {
	if a.state < alertOn || a.state == alertKept && a.cpu == cpu || !a.cpus.IsSet(cpu) {
		return
	}
	var one unix.CPUSet
	one.Set(cpu)
	if unix.SchedSetaffinity(0, &one) == nil {
		a.state, a.cpu = alertKept, cpu
	}
}

// Off takes the priority away, and lets the thread run on its usual processors.
func (a *Alert) Off() {
	if a.state == alertKept {
		_ = unix.SchedSetaffinity(0, &a.cpus) // fails if this program may not use any of them any more
	}
	if a.state >= alertOn {
		a.state = alertOff
		_ = unix.SchedSetAttr(0, &a.usual, 0) // giving up a priority is always permitted
	}
}

// learn reads how the thread is scheduled.
func (a *Alert) learn() bool {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL || unix.SchedGetaffinity(0, &a.cpus) != nil {
		return false
	}
	a.usual = *attr
	a.usual.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
	return true
}
