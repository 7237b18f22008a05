package job

import (
	"fmt"
	"os"
	"syscall"

	"ptools/internal/ptrace"
	"ptools/pctl"
)

// Held is a command that is not traced, and waits between fork(2) and execve(2). If this program ends first, so does the command.
// It is for processors on which a command cannot be started under control.
type Held struct {
	child *ptrace.Child
	begun bool
}

// Hold starts a command, which waits until Begin.
func Hold(cmd *pctl.Command) (*Held, error) {
	pc := &ptrace.Command{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir}
	if pc.Env == nil {
		pc.Env = os.Environ()
	}
	for _, f := range cmd.Files {
		pc.Files = append(pc.Files, f.Fd())
	}
	child, err := ptrace.Fork(pc)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", cmd.Path, err)
	}
	return &Held{child: child}, nil
}

// PID is the number of the command's process.
func (h *Held) PID() int { return h.child.PID }

// Begin lets the command run. The error is that of execve(2): then the process has ended.
func (h *Held) Begin() error {
	if err := h.child.Exec(); err != nil {
		h.child.Abandon()
		return err
	}
	err := h.child.ExecError()
	h.begun = err == nil
	return err
}

// Begun reports whether the command runs, or has run.
func (h *Held) Begun() bool { return h.begun }

// Kill ends the command, whether it has begun or not.
func (h *Held) Kill() {
	h.child.Abandon()
	syscall.Kill(h.child.PID, syscall.SIGKILL) // fails if it has ended, and is reaped below
	ptrace.Reap(h.child.PID)
}
