package control

import (
	"fmt"
	"syscall"

	"ptools/internal/ptrace"
)

// state is where a traced thread stands, as far as wait statuses have told.
type state uint8

const (
	// stateBorn: announced by its creator's event, its own first stop not yet seen.
	stateBorn state = iota
	// stateRunning: set going, or never stopped since it was seized.
	stateRunning
	// stateStopped: in a ptrace stop that it leaves only by our word.
	stateStopped
	// stateListening: in a group stop that it leaves when somebody continues the
	// process (PTRACE_LISTEN).
	stateListening
)

var stateNames = [...]string{"born", "running", "stopped", "listening"}

func (s state) String() string { return stateNames[s] }

// action is what has to be done to a thread in answer to an event.
type action uint8

const (
	actNone action = iota
	actInterrupt
	actCont
	actListen
)

var actionNames = [...]string{"none", "interrupt", "cont", "listen"}

func (a action) String() string { return actionNames[a] }

// machine is the state machine of one thread. It is pure: methods change it and say
// what has to be done, and never do it, so every order of events that a kernel can
// produce is replayed in tests (testdata/*.txt).
//
// Invariants: a thread is resumed only while nobody holds it; each stop is resumed
// at most once; a group stop is resumed by PTRACE_LISTEN, everything else by
// PTRACE_CONT with the signal that the stop was about to deliver; an interrupt is
// never asked for twice before a stop.
type machine struct {
	state  state
	signal syscall.Signal // to be delivered when resumed from this stop
	group  bool           // this stop is a group stop
	asked  bool           // PTRACE_INTERRUPT is under way
	holds  int            // how many want the thread to stay stopped
}

// hold adds one who wants the thread stopped.
func (m *machine) hold() action {
	m.holds++
	return m.ask()
}

// ask returns the interrupt that brings a thread to a stop, if one is needed.
func (m *machine) ask() action {
	if m.asked || m.state != stateRunning && m.state != stateListening {
		return actNone
	}
	m.asked = true
	return actInterrupt
}

// unhold takes one hold back; the last one leaves the thread to settle.
func (m *machine) unhold() {
	if m.holds == 0 {
		panic("control: thread is not held")
	}
	m.holds--
}

// loose lets a held thread run to its next stop, at which rehold has it held again.
func (m *machine) loose()  { m.holds = 0 }
func (m *machine) rehold() { m.holds = 1 }

// stop notes a stop. Any stop uses up an interrupt that is under way: the kernel
// clears it on entry to every trap (kernel/signal.c, ptrace_stop).
func (m *machine) stop(kind ptrace.Kind, sig syscall.Signal) {
	m.state, m.asked = stateStopped, false
	m.group = kind == ptrace.KindGroupStop
	m.signal = 0
	if kind == ptrace.KindSignal {
		m.signal = sig
	}
}

// settle resumes a stopped thread that nobody holds.
func (m *machine) settle() action {
	if m.state != stateStopped || m.holds > 0 {
		return actNone
	}
	if m.group {
		m.state = stateListening
		return actListen
	}
	m.state = stateRunning
	return actCont
}

func (m *machine) String() string {
	s := m.state.String()
	if m.group {
		s += " group"
	}
	if m.signal != 0 {
		s += fmt.Sprintf(" sig=%d", int(m.signal))
	}
	if m.asked {
		s += " asked"
	}
	if m.holds > 0 {
		s += fmt.Sprintf(" holds=%d", m.holds)
	}
	return s
}
