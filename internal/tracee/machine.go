package tracee

import (
	"fmt"
	"slices"
	"syscall"

	"ptools/internal/ptrace"
)

// State is the state of a traced thread, as far as wait statuses have shown it.
type State uint8

const (
	// StateBorn: announced by its creator's event; its own first stop has not been seen.
	StateBorn State = iota
	// StateRunning: resumed, or never stopped since it was seized.
	StateRunning
	// StateStopped: in a ptrace stop, until we resume it.
	StateStopped
	// StateListening: in a group stop that it leaves when a SIGCONT continues the
	// process (PTRACE_LISTEN).
	StateListening
)

var stateNames = [...]string{"born", "running", "stopped", "listening"}

func (s State) String() string { return stateNames[s] }

// Action is what has to be done to a thread after an event.
type Action uint8

const (
	ActNone Action = iota
	ActInterrupt
	ActCont
	ActListen
)

var actionNames = [...]string{"none", "interrupt", "cont", "listen"}

func (a Action) String() string { return actionNames[a] }

// Position is the position of a thread relative to breakpoints, or how it gets past one.
type Position uint8

const (
	// PosFree: at no breakpoint.
	PosFree Position = iota
	// PosSetBack: in the stop of an int3; its registers have been set back to the address of the int3.
	PosSetBack
	// PosAtTrap: at a breakpoint that it has to get past before it runs.
	PosAtTrap
	// PosInSlot: sent into a scratch slot, from which it comes back by itself.
	PosInSlot
	// PosStepping: makes a single step.
	PosStepping
	// PosTrapDue: its step is finished; the next wait status is the SIGTRAP of that.
	PosTrapDue
)

var positionNames = [...]string{"free", "set-back", "at-trap", "in-slot", "stepping", "trap-due"}

func (p Position) String() string { return positionNames[p] }

// moves lists the positions that move may lead to from each one. Two positions are entered otherwise: a step begins
// by Step, and a thread is set back by a stop.
var moves = [...][]Position{
	PosFree:     {PosAtTrap},
	PosSetBack:  {PosFree, PosAtTrap},
	PosAtTrap:   {PosFree, PosInSlot},
	PosInSlot:   {PosFree, PosAtTrap},
	PosStepping: {PosFree, PosAtTrap, PosTrapDue},
	PosTrapDue:  {PosFree, PosAtTrap},
}

// Awaits is what is awaited of a thread that is not stopped.
type Awaits uint8

const (
	AwaitNothing Awaits = iota
	// AwaitStop: it is to stop, and that is waited for.
	AwaitStop
	// AwaitParked: it cannot react to interrupts now: it sleeps uninterruptibly, is given no processor, or is a dead
	// leader. It stops before it runs, and is not waited for.
	AwaitParked
	// AwaitVfork: it waits in vfork(2) for its child, or is about to. It cannot react to interrupts before the vfork ends.
	AwaitVfork
)

var awaitsNames = [...]string{"nothing", "awaited", "parked", "vfork"}

func (a Awaits) String() string { return awaitsNames[a] }

// meaning is what a stop says beyond its kind.
type meaning uint8

const (
	meansKind      meaning = iota // nothing
	meansBorn                     // it is the first one of a new thread
	meansContinued                // the group stop that the thread was in is over
)

var meaningNames = [...]string{"", " born", " continued"}

func (m meaning) String() string { return meaningNames[m] }

// Machine is the state machine of one thread. It is pure: its methods change it and say
// what has to be done, and never do it. So tests replay every order of events that a kernel
// can produce (testdata/*.txt). Nothing else changes its fields.
//
// Invariants:
//   - A held thread is resumed only to its next stop, by Pass.
//   - Each stop is resumed at most once.
//   - A group stop is resumed by PTRACE_LISTEN, every other stop by PTRACE_CONT with the
//     signal that the stop was about to deliver.
//   - An interrupt is never asked for twice before a stop.
//
// What the kernel says is never refused. An impossible change of ours is refused: the machine keeps its state,
// nothing is done to the thread, and the trace records the refusal.
type Machine struct {
	state    State
	signal   syscall.Signal // to be delivered when resumed from this stop
	group    bool           // this stop is a group stop
	joined   bool           // it was in a group stop, and has not reported the end of that
	asked    bool           // PTRACE_INTERRUPT is under way
	holds    int            // reasons for the thread to stay stopped
	position Position
	awaits   Awaits
}

// hold adds a reason for the thread to stay stopped.
func (m *Machine) hold() Action {
	m.holds++
	if m.state != StateStopped && m.awaits != AwaitVfork {
		m.awaits = AwaitStop
	}
	return m.Ask()
}

// Ask returns the interrupt that brings a thread to a stop, if one is needed.
func (m *Machine) Ask() Action {
	if m.asked || m.state != StateRunning && m.state != StateListening {
		return ActNone
	}
	m.asked = true
	return ActInterrupt
}

// Unhold takes one hold back. After the last one settle resumes the thread. It is refused for a thread
// that is not held.
func (m *Machine) Unhold() bool {
	if m.holds == 0 {
		return false
	}
	m.holds--
	return true
}

// stand records that a thread which was waited for has stopped, or is not waited for any more. It returns false
// if the thread was not waited for.
func (m *Machine) stand() bool {
	if m.awaits != AwaitStop {
		return false
	}
	m.awaits = AwaitNothing
	return true
}

// park gives up waiting for a thread that cannot stop now.
func (m *Machine) park() bool {
	if m.awaits != AwaitStop {
		return false
	}
	m.awaits = AwaitParked
	return true
}

// expect makes a thread waited for that was not, or not any more. It is refused for a thread that is stopped, or in
// vfork(2).
func (m *Machine) expect() bool {
	if m.state == StateStopped || m.awaits == AwaitVfork {
		return false
	}
	m.awaits = AwaitStop
	return true
}

// vfork records that a thread waits for its child, or will as soon as it runs.
func (m *Machine) vfork() { m.awaits = AwaitVfork }

// Stop records a stop. Any stop uses up an interrupt that is under way: the kernel
// clears it on entry to every ptrace stop (kernel/signal.c, ptrace_stop).
func (m *Machine) Stop(s ptrace.Stop) meaning {
	means := meansKind
	switch {
	case m.state == StateBorn:
		means = meansBorn
	case m.joined && s.Kind == ptrace.KindEventStop:
		means, m.joined = meansContinued, false
	}
	m.state, m.asked = StateStopped, false
	m.group = s.Kind == ptrace.KindGroupStop
	m.joined = m.joined || m.group
	m.signal = 0
	if s.Kind == ptrace.KindSignal {
		m.signal = s.Signal
	}
	if m.awaits != AwaitStop {
		m.awaits = AwaitNothing
	}
	switch {
	case m.position == PosStepping || m.position == PosTrapDue:
	case s.Back:
		m.position = PosSetBack
	case m.position == PosSetBack:
		m.position = PosFree
	}
	return means
}

// settle resumes a stopped thread that is not held.
func (m *Machine) settle() Action {
	if m.state != StateStopped || m.holds > 0 {
		return ActNone
	}
	return m.run()
}

// Pass resumes a stopped thread to its next stop, held or not. The thread executes nothing of the program before that
// stop, or it is the one thread that is to run. A held thread stays held.
func (m *Machine) Pass() Action {
	if m.state != StateStopped {
		return ActNone
	}
	return m.run()
}

func (m *Machine) run() Action {
	if m.group {
		m.state = StateListening
		return ActListen
	}
	m.state = StateRunning
	return ActCont
}

// Step makes a stopped thread make a single step, held or not: over the breakpoint that it is at, or the one instruction
// that a client asks for. It is refused where a SIGTRAP is to come, or is being handled.
func (m *Machine) Step() bool {
	if m.state != StateStopped || m.position == PosTrapDue || m.position == PosSetBack {
		return false
	}
	m.state, m.position = StateRunning, PosStepping
	return true
}

// move changes the position. A move that the table moves does not list is refused.
func (m *Machine) move(to Position) bool {
	if m.position != to && !slices.Contains(moves[m.position], to) {
		return false
	}
	m.position = to
	return true
}

// take suppresses the signal that a stop was about to deliver, and returns it.
func (m *Machine) take() syscall.Signal {
	sig := m.signal
	m.signal = 0
	return sig
}

// Give makes a stopped thread receive a signal when it is resumed. It is refused in a group stop, which delivers none.
func (m *Machine) Give(sig syscall.Signal) bool {
	if m.state != StateStopped || m.group {
		return false
	}
	m.signal = sig
	return true
}

func (m *Machine) String() string {
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
	if m.awaits != AwaitNothing {
		s += " " + m.awaits.String()
	}
	if m.position != PosFree {
		s += " " + m.position.String()
	}
	return s
}

// State returns the state of the thread.
func (m *Machine) State() State { return m.state }

// Signal returns the signal that the thread receives when it is resumed from its stop, or 0.
func (m *Machine) Signal() syscall.Signal { return m.signal }

// Group reports whether the stop is a group stop.
func (m *Machine) Group() bool { return m.group }

// Holds returns how many reasons there are for the thread to stay stopped.
func (m *Machine) Holds() int { return m.holds }

// Position returns the thread's position relative to breakpoints.
func (m *Machine) Position() Position { return m.position }

// Awaits returns what is awaited of a thread that is not stopped.
func (m *Machine) Awaits() Awaits { return m.awaits }
