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
	// TrapAuto takes kernel uprobes where they can be had and are of use: where
	// nothing stops at a breakpoint (no Handler, and no stream of KindHit), and in
	// processes that are to live when we die. Elsewhere it takes int3 instructions.
	TrapAuto Trap = Trap(control.TrapAuto)
	// TrapInt3 takes int3 instructions only.
	TrapInt3 Trap = Trap(control.TrapInt3)
	// TrapUprobe takes kernel uprobes only, and fails with ErrNoUprobe where there
	// can be none. Our own breakpoints (the run-time linker's and those of Points)
	// are int3 instructions where the kernel cannot probe what stands there.
	TrapUprobe Trap = Trap(control.TrapUprobe)
)

// String returns the name that pgrab's --trap takes: "auto", "int3", "uprobe".
func (t Trap) String() string { return control.Trap(t).String() }

// KillRisk is what becomes of a process's breakpoints when this program is killed, and what was not done
// because of that. Uprobes, and a process that is killed with us, leave it zero.
type KillRisk struct {
	// Int3s: some are int3 instructions. A thread that comes to one before it is out
	// of the text, or has run into one and was not answered, ends the process.
	Int3s bool
	// NoUprobe is why one that was to be a uprobe is an int3; nil: none was.
	NoUprobe error
	// NoGuard is why nothing would take the int3s out of the text; nil: the guard would (Guard).
	NoGuard error
	// NoLoads is why objects that are loaded and unloaded are not told, although that was asked for: it
	// would take an int3. nil: they are.
	NoLoads error
}

// KillRisk returns what a SIGKILL of this program would mean for the process, by the
// breakpoints that were set in it: those of clients, the run-time linker's and those
// of Points. It changes as breakpoints are set, and when the guard is lost.
func (p *Process) KillRisk() KillRisk {
	if p.c == nil {
		return KillRisk{}
	}
	return KillRisk(p.c.KillRisk())
}
