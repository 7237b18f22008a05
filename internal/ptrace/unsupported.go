//go:build !linux

package ptrace

import (
	"errors"
	"syscall"
	"time"
	"unsafe"
)

// Supported reports whether this platform has the calls of this package.
const Supported = false

// BellSignal does not exist here.
const BellSignal = syscall.Signal(0)

// Bell does nothing here.
type Bell struct{}

var errNo = errors.ErrUnsupported

func Seize(tid int, o Options) error                    { return errNo }
func Filtered() error                                   { return nil }
func SetOptions(tid int, o Options) error               { return errNo }
func Interrupt(tid int) error                           { return errNo }
func Cont(tid int, sig syscall.Signal) error            { return errNo }
func SingleStep(tid int, sig syscall.Signal) error      { return errNo }
func Listen(tid int) error                              { return errNo }
func Detach(tid int, sig syscall.Signal) error          { return errNo }
func GetRegs(tid int, r *Regs) error                    { return errNo }
func SetRegs(tid int, r *Regs) error                    { return errNo }
func UpdateRegs(tid int, was, r *Regs) error            { return errNo }
func EventMsg(tid int) (uint64, error)                  { return 0, errNo }
func GetSigInfo(tid int, si *SigInfo) error             { return errNo }
func SetSigInfo(tid int, si *SigInfo) error             { return errNo }
func SigMask(tid int) (uint64, error)                   { return 0, errNo }
func SetSigMask(tid int, mask uint64) error             { return errNo }
func Pending(tid int, sig syscall.Signal) (bool, error) { return false, errNo }
func Wait(block bool) (Stop, error)                     { return Stop{}, errNo }
func WaitTID(tid int, block bool) (Stop, error)         { return Stop{}, errNo }
func PeekWait(block bool) (Stop, error)                 { return Stop{}, errNo }
func PeekWaitBack(rules []SetBack, backs []Back, block bool) (s Stop, n int, err error) {
	return Stop{}, 0, errNo
}
func PeekTID(tid int, block bool) (Stop, error)   { return Stop{}, errNo }
func Kill(pid, tid int, sig syscall.Signal) error { return errNo }
func ThreadID() int                               { return 0 }
func Reap(pid int)                                {}
func Nap(d time.Duration) error                   { return errNo }
func AwaitEnd(pid int)                            {}
func HasChildren() bool                           { return false }
func ProcessID() int                              { return 0 }
func Prompt()                                     {}
func QuietStops() error                           { return errNo }
func Spawn(stack, pc uintptr) bool                { return false }
func CloseApart(fd int) error                     { return errNo }

func CallApart(nr uintptr, args [5]uintptr, memory unsafe.Pointer) (uintptr, error) { return 0, errNo }

// ShortAtStop returns Whole: there are no stops here.
func ShortAtStop(nr int64, args [6]uint64) Short { return Whole }

// OnDescriptor returns false here.
func OnDescriptor(nr int64) bool { return false }

// Alert does nothing here.
type Alert struct{}

func (a *Alert) On()          {}
func (a *Alert) Keep(cpu int) {}
func (a *Alert) Off()         {}

func NewBell() (*Bell, error)  { return nil, errNo }
func (b *Bell) Install() error { return errNo }
func (b *Bell) Ring() error    { return errNo }

// Child is a process between fork and exec.
type Child struct{ PID int }

func Fork(c *Command) (*Child, error) { return nil, errNo }
func (c *Child) Exec() error          { return errNo }
func (c *Child) ExecError() error     { return errNo }
func (c *Child) Abandon()             {}

// Exit waits for the end of one OS thread.
type Exit struct{}

func ThreadExit() *Exit { return nil }
func (e *Exit) Wait()   {}

// Memory is the memory of a stopped thread.
type Memory struct{ TID int }

func (m Memory) ReadAt(p []byte, addr int64) (int, error)  { return 0, errNo }
func (m Memory) WriteAt(p []byte, addr int64) (int, error) { return 0, errNo }

func Note(tid int) (uint64, error)       { return 0, errNo }
func SetNote(tid int, note uint64) error { return errNo }
func Doze(d time.Duration)               {}
