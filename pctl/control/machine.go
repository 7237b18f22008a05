package control

import (
	"fmt"
	"slices"
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

// position says where a thread stands as to breakpoints, or how it gets past one.
type position uint8

const (
	// posFree: at no breakpoint.
	posFree position = iota
	// posSetBack: in the stop of an int3, in front of which it has been set back.
	posSetBack
	// posAtTrap: in front of a breakpoint that it has to get past before it runs.
	posAtTrap
	// posInSlot: sent into a scratch slot, from which it comes back by itself.
	posInSlot
	// posStepping: makes a single step.
	posStepping
	// posTrapDue: the SIGTRAP of its finished step is its next report.
	posTrapDue
)

var positionNames = [...]string{"free", "set-back", "at-trap", "in-slot", "stepping", "trap-due"}

func (p position) String() string { return positionNames[p] }

// moves has the positions that a thread may be moved to from each. A step begins by step, not by move, and
// a thread is set back by a stop.
var moves = [...][]position{
	posFree:     {posAtTrap},
	posSetBack:  {posFree, posAtTrap},
	posAtTrap:   {posFree, posInSlot},
	posInSlot:   {posFree, posAtTrap},
	posStepping: {posFree, posAtTrap, posTrapDue},
	posTrapDue:  {posFree, posAtTrap},
}

// awaits is what is awaited of a thread that does not stand.
type awaits uint8

const (
	awaitNothing awaits = iota
	// awaitStop: it is to stop, and somebody waits for that.
	awaitStop
	// awaitParked: it does not answer interrupts now: uninterruptible, or a dead leader.
	// It stops before it runs, and is not waited for.
	awaitParked
	// awaitVfork: it waits in vfork(2) for its child, or is about to, and answers no interrupt before the end of that.
	awaitVfork
)

var awaitsNames = [...]string{"nothing", "awaited", "parked", "vfork"}

func (a awaits) String() string { return awaitsNames[a] }

// meaning is what a stop says beyond its kind.
type meaning uint8

const (
	meansKind      meaning = iota // nothing
	meansBorn                     // it is the first one of a new thread
	meansContinued                // the group stop that the thread was in is over
)

var meaningNames = [...]string{"", " born", " continued"}

func (m meaning) String() string { return meaningNames[m] }

// machine is the state machine of one thread. It is pure: methods change it and say
// what has to be done, and never do it, so every order of events that a kernel can
// produce is replayed in tests (testdata/*.txt). Nothing else changes its fields.
//
// Invariants: a held thread is resumed only to its next stop, by pass; each stop is resumed
// at most once; a group stop is resumed by PTRACE_LISTEN, everything else by
// PTRACE_CONT with the signal that the stop was about to deliver; an interrupt is
// never asked for twice before a stop.
//
// What the kernel says is never refused. A change of ours that cannot be is: the machine stays as it is,
// the thread is left alone, and the trace has the refusal.
type machine struct {
	state    state
	signal   syscall.Signal // to be delivered when resumed from this stop
	group    bool           // this stop is a group stop
	joined   bool           // it was in a group stop, whose end it has still to report
	asked    bool           // PTRACE_INTERRUPT is under way
	holds    int            // reasons for the thread to stand
	position position
	awaits   awaits
}

// hold adds a reason for the thread to stand.
func (m *machine) hold() action {
	m.holds++
	if m.state != stateStopped && m.awaits != awaitVfork {
		m.awaits = awaitStop
	}
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

// unhold takes one hold back; the last one leaves the thread to settle. It is refused for one that
// is not held.
func (m *machine) unhold() bool {
	if m.holds == 0 {
		return false
	}
	m.holds--
	return true
}

// stand notes that a thread which was waited for stands, or is waited for no more. It returns false
// if it was not waited for.
func (m *machine) stand() bool {
	if m.awaits != awaitStop {
		return false
	}
	m.awaits = awaitNothing
	return true
}

// park gives up waiting for a thread that cannot stop now.
func (m *machine) park() bool {
	if m.awaits != awaitStop {
		return false
	}
	m.awaits = awaitParked
	return true
}

// expect has a thread waited for that was not, or no more. Refused for one that stands, or is in vfork(2).
func (m *machine) expect() bool {
	if m.state == stateStopped || m.awaits == awaitVfork {
		return false
	}
	m.awaits = awaitStop
	return true
}

// vfork notes that a thread waits for its child, or will as soon as it runs.
func (m *machine) vfork() { m.awaits = awaitVfork }

// stop notes a stop. Any stop uses up an interrupt that is under way: the kernel
// clears it on entry to every trap (kernel/signal.c, ptrace_stop).
func (m *machine) stop(s ptrace.Stop) meaning {
	means := meansKind
	switch {
	case m.state == stateBorn:
		means = meansBorn
	case m.joined && s.Kind == ptrace.KindEventStop:
		means, m.joined = meansContinued, false
	}
	m.state, m.asked = stateStopped, false
	m.group = s.Kind == ptrace.KindGroupStop
	m.joined = m.joined || m.group
	m.signal = 0
	if s.Kind == ptrace.KindSignal {
		m.signal = s.Signal
	}
	if m.awaits != awaitStop {
		m.awaits = awaitNothing
	}
	switch {
	case m.position == posStepping || m.position == posTrapDue:
	case s.Back:
		m.position = posSetBack
	case m.position == posSetBack:
		m.position = posFree
	}
	return means
}

// settle resumes a stopped thread that is not held.
func (m *machine) settle() action {
	if m.state != stateStopped || m.holds > 0 {
		return actNone
	}
	return m.run()
}

// pass resumes a stopped thread to its next stop, held or not: it executes nothing of the program before that, or is
// the one thread that is to. Where it is held it stays so.
func (m *machine) pass() action {
	if m.state != stateStopped {
		return actNone
	}
	return m.run()
}

func (m *machine) run() action {
	if m.group {
		m.state = stateListening
		return actListen
	}
	m.state = stateRunning
	return actCont
}

// step has a stopped thread make a single step, held or not: over the breakpoint that it is at, or the one instruction
// that a client asks for. Refused where a SIGTRAP is to come, or being handled.
func (m *machine) step() bool {
	if m.state != stateStopped || m.position == posTrapDue || m.position == posSetBack {
		return false
	}
	m.state, m.position = stateRunning, posStepping
	return true
}

// move changes the position. What moves does not have is refused.
func (m *machine) move(to position) bool {
	if m.position != to && !slices.Contains(moves[m.position], to) {
		return false
	}
	m.position = to
	return true
}

// take keeps the signal of a stop from its thread, and returns it.
func (m *machine) take() syscall.Signal {
	sig := m.signal
	m.signal = 0
	return sig
}

// give has a stopped thread receive a signal when it is resumed. Refused where it would not.
func (m *machine) give(sig syscall.Signal) bool {
	if m.state != stateStopped || m.group {
		return false
	}
	m.signal = sig
	return true
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
	if m.awaits != awaitNothing {
		s += " " + m.awaits.String()
	}
	if m.position != posFree {
		s += " " + m.position.String()
	}
	return s
}
