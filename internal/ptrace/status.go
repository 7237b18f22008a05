package ptrace

import (
	"fmt"
	"syscall"
)

// Kind classifies a wait status of a tracee. There is one kind for every wait status
// that the kernel can give of a thread that was seized.
type Kind uint8

const (
	// KindNone: there is no wait status.
	KindNone Kind = iota
	// KindExited: the thread ended by exit; Code is its status.
	KindExited
	// KindKilled: the thread was ended by Signal.
	KindKilled
	// KindSignal: signal-delivery-stop. Signal is delivered unless the tracer suppresses it.
	KindSignal
	// KindGroupStop: the process is stopped by Signal (ptrace(2), Group-stop).
	KindGroupStop
	// KindEventStop: stopped by Interrupt, by birth, or by the end of a group stop.
	KindEventStop
	// KindClone, KindFork, KindVfork: the thread has made a thread or process. EventMsg
	// returns its number.
	KindClone
	KindFork
	KindVfork
	// KindVforkDone: the vfork child does not use the memory any more.
	KindVforkDone
	// KindExec: a new program is in place. EventMsg returns the former TID of the thread
	// that called execve; that thread is the leader now.
	KindExec
	// KindExit: about to exit (only with OptExit).
	KindExit
	// KindSeccomp: a seccomp filter asks the tracer (SECCOMP_RET_TRACE).
	KindSeccomp
	// KindSyscall: at the entry or the exit of a system call.
	KindSyscall
	// KindContinued: continued by SIGCONT; not reported for a tracee of Seize.
	KindContinued
)

var kindNames = [...]string{
	KindNone: "none", KindExited: "exited", KindKilled: "killed", KindSignal: "signal-delivery-stop",
	KindGroupStop: "group-stop", KindEventStop: "PTRACE_EVENT_STOP", KindClone: "PTRACE_EVENT_CLONE",
	KindFork: "PTRACE_EVENT_FORK", KindVfork: "PTRACE_EVENT_VFORK", KindVforkDone: "PTRACE_EVENT_VFORK_DONE",
	KindExec: "PTRACE_EVENT_EXEC", KindExit: "PTRACE_EVENT_EXIT", KindSeccomp: "PTRACE_EVENT_SECCOMP",
	KindSyscall: "syscall-stop", KindContinued: "continued",
}

// String returns the kernel's name for the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Ended reports whether the thread is gone.
func (k Kind) Ended() bool { return k == KindExited || k == KindKilled }

// Stop is a decoded wait status.
type Stop struct {
	TID    int
	Kind   Kind
	Signal syscall.Signal // KindSignal, KindGroupStop, KindKilled
	Code   int            // KindExited
	Core   bool           // KindKilled: a core was dumped
	Back   bool           // KindSignal: the thread has been set back, and the wait status consumed (PeekWaitBack)
}

// eventKinds are the kinds of the events of ptrace(2), by event number. The number is in bits 16 and up of a wait status.
var eventKinds = [...]Kind{1: KindFork, KindVfork, KindClone, KindExec, KindVforkDone, KindExit, KindSeccomp}

// eventStop is the number of PTRACE_EVENT_STOP.
const eventStop = 128

// Decode classifies the wait status of thread tid.
func Decode(tid int, status uint32) Stop {
	s := Stop{TID: tid}
	switch {
	case status == 0xffff:
		s.Kind = KindContinued
	case status&0xff == 0x7f:
		s.decodeStop(status)
	case status&0x7f == 0:
		s.Kind, s.Code = KindExited, int(status>>8&0xff)
	default:
		s.Kind, s.Signal, s.Core = KindKilled, syscall.Signal(status&0x7f), status&0x80 != 0
	}
	return s
}

// sysGood marks the signal of a syscall-stop under OptSysGood.
const sysGood = 0x80

func (s *Stop) decodeStop(status uint32) {
	sig, event := syscall.Signal(status>>8&0xff), status>>16
	switch {
	case event == eventStop && sig == syscall.SIGTRAP:
		s.Kind = KindEventStop
	case event == eventStop:
		s.Kind, s.Signal = KindGroupStop, sig
	case event != 0 && event < uint32(len(eventKinds)):
		s.Kind = eventKinds[event]
	case event != 0:
		s.Kind = KindEventStop
	case sig == syscall.SIGTRAP|sysGood:
		s.Kind = KindSyscall
	default:
		s.Kind, s.Signal = KindSignal, sig
	}
}
