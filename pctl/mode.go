package pctl

import "ptools/pctl/control"

// Mode is what becomes of a process when it is let go.
type Mode uint8

// Release modes.
const (
	ModeRun  Mode = Mode(control.ModeRun)  // it runs on, or stays stopped if it was stopped from outside
	ModeKill Mode = Mode(control.ModeKill) // it is killed, by the kernel if we die first; if it was stopped from outside it stays stopped
	ModeStop Mode = Mode(control.ModeStop) // it is left stopped, as by SIGSTOP, while we live to do it
)

// String returns the participle that follows "released, ": "running", "killed", "stopped".
func (m Mode) String() string { return control.Mode(m).String() }

// Trap is the means by which threads are made to stop at breakpoints.
type Trap uint8

// Traps.
const (
	// TrapAuto takes kernel uprobes where they can be had and are of use, and int3
	// instructions elsewhere. Uprobes are of use where no thread has to stop at a
	// breakpoint (no Handler, and no stream of KindHit), and in processes that are
	// to outlive us.
	TrapAuto Trap = Trap(control.TrapAuto)
	// TrapInt3 takes int3 instructions only.
	TrapInt3 Trap = Trap(control.TrapInt3)
	// TrapUprobe takes kernel uprobes only, and fails with ErrNoUprobe where none
	// can be had. Our own breakpoints (the run-time linker's and those of Points)
	// are int3 instructions where the kernel cannot probe the instruction.
	TrapUprobe Trap = Trap(control.TrapUprobe)
)

// String returns the name that pgrab's --trap takes: "auto", "int3", "uprobe".
func (t Trap) String() string { return control.Trap(t).String() }

// KillRisk says what becomes of a process's breakpoints when this program is killed, and what was not
// done because of that. It is zero if all breakpoints are uprobes, and for a process that is killed with
// us.
type KillRisk struct {
	// Int3s: some breakpoints are int3 instructions. A thread that reaches one
	// before it is out of the text ends the process. So does a thread that has hit
	// one whose hit was not handled yet.
	Int3s bool
	// NoUprobe is why a breakpoint that was to be a uprobe is an int3; nil: there is none.
	NoUprobe error
	// NoGuard is why nothing would remove the int3s from the text; nil: the guard would (Guard).
	NoGuard error
	// NoLoads is why objects that are loaded and unloaded are not reported, although that was asked
	// for: it would take an int3. nil: they are reported.
	NoLoads error
}

// KillRisk returns what a SIGKILL of this program would mean for the process. It
// depends on the breakpoints that are set in it: those of clients, of the run-time
// linker and of Points. It changes as breakpoints are set, and when the guard is
// lost.
func (p *Process) KillRisk() KillRisk {
	if p.c == nil {
		return KillRisk{}
	}
	return KillRisk(p.c.KillRisk())
}
