package check

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// Options of prctl(2).
const (
	prSetDumpable   = 4
	prSetNoNewPrivs = 38
)

func setUndumpable() { syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0) }

// startWithoutRights starts a child that does not get the rights of this program's file: with these it could not be traced
// without CAP_SYS_PTRACE.
func startWithoutRights(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() { // ends when the child has been started; its thread, which has no_new_privs, ends too
		runtime.LockOSThread()
		syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)
		done <- cmd.Start()
	}()
	return <-done
}

// contain gives a child namespaces of its own, as in a container. An ordinary user needs a user namespace for that.
func contain(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if os.Geteuid() == 0 {
		return
	}
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
}
