package ptest

import "syscall"

// nullSignal asks whether a process is there.
const nullSignal = syscall.Signal(0)

// ownGroup makes a process the leader of a new process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process group that pid leads. The leader must not have been reaped, because
// another process could have the number then.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }
