package guard

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// name is the argv[0] of a guard, and what ps(1) shows of it. Its only argument is the stage: the
// process that the guarded program starts and waits for starts the one that stays.
const (
	name       = "ptools-guard"
	stageStart = "start"
	stageStay  = "stay"
)

// close_range(2), which has the same number on every processor: what this program was given by its
// own parent is not marked to be closed.
const (
	sysCloseRange     = 436
	closeRangeCloexec = 4
)

// socketFD is the guard's end of the socket.
const socketFD = 3

// Main makes this process the guard if it was started as one, and then does not return. It is to be
// called first thing in main, before flags are parsed.
func Main() {
	if len(os.Args) != 2 || os.Args[0] != name {
		return
	}
	switch os.Args[1] {
	case stageStart:
		syscall.Syscall(sysCloseRange, socketFD+1, ^uintptr(0)>>32, closeRangeCloexec)
		if _, err := execute(stageStay, os.NewFile(socketFD, "socket")); err != nil {
			os.Exit(1)
		}
	case stageStay:
		stay()
	}
	os.Exit(0)
}

// execute starts this program again as a guard, with nothing of this process but one file.
func execute(stage string, socket *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return os.StartProcess("/proc/self/exe", []string{name, stage}, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{null, null, null, socket},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// stay is the guard's life. It runs before others when it has to, if it is allowed to: it races
// with the threads of the target.
func stay() {
	runtime.LockOSThread()
	signal.Ignore(syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20)
	if r, err := newReceiver(socketFD); err == nil {
		r.serve()
	}
}
