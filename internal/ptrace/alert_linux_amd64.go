package ptrace

import "golang.org/x/sys/unix"

// Alert has the calling thread go first where it is waited for: with a real-time priority and,
// while it sleeps for an event, on the processor that the event is expected on. One that sleeps on
// another processor has to be fetched out of its idle state, which on a virtual machine may take
// milliseconds, because the host has to be waited for; and an ordinary one may find others before
// it. What it makes meanwhile has the processor too, but not the priority. All methods are for the
// one thread. The zero value is ready.
type Alert struct {
	state alertness
	usual unix.SchedAttr // how the thread is scheduled otherwise
	cpus  unix.CPUSet    // and where
	cpu   int            // where it is kept
}

// alertness is how far an Alert goes.
type alertness uint8

const (
	alertNever  alertness = iota // it has not been on: usual and cpus are not known
	alertDenied                  // there is no right to it
	alertOff
	alertOn
	alertKept // and the thread stays on cpu
)

var alertnessNames = [...]string{"never", "denied", "off", "on", "kept"}

func (a alertness) String() string { return alertnessNames[a] }

// alertPriority is the lowest real-time priority. Those of package guard are above it.
const alertPriority = 1

// On begins it. A program that has no right to real-time priorities, or has chosen how it is
// scheduled, is left as it is.
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

// Keep moves the thread to a processor until Off, if it may be there at all.
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

// Off ends it.
func (a *Alert) Off() {
	if a.state == alertKept {
		_ = unix.SchedSetaffinity(0, &a.cpus) // fails where nothing of them is left to this program
	}
	if a.state >= alertOn {
		a.state = alertOff
		_ = unix.SchedSetAttr(0, &a.usual, 0) // giving up a priority is always permitted
	}
}

// learn notes how the thread is scheduled.
func (a *Alert) learn() bool {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL || unix.SchedGetaffinity(0, &a.cpus) != nil {
		return false
	}
	a.usual = *attr
	a.usual.Flags |= unix.SCHED_FLAG_RESET_ON_FORK
	return true
}
