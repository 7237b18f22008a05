//go:build !linux

package procfs

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrUnknown is not returned on this platform, nor has it sockets' timeouts.
var ErrUnknown = errors.ErrUnsupported

const (
	ReceiveTimeout = iota
	SendTimeout
)

// What is of /proc cannot be opened on this platform.
type (
	Listed struct {
		PID   int
		Inode uint64
	}

	Mappings  struct{}
	Socket    struct{}
	Task      struct{}
	TaskStats struct{}
	Root      struct{}
	PIDFD     struct{}
	Image     struct{}
)

// All functions and methods are those of Linux.
func (p *path) read([]byte) ([]byte, error)                { return nil, errors.ErrUnsupported }
func (p *path) readlink() (string, error)                  { return "", errors.ErrUnsupported }
func (p *path) gone() error                                { return errors.ErrUnsupported }
func IsWorker(pid, tid int) bool                           { return false }
func readMemory(pid int, b []byte, addr uint64) int        { return 0 }
func CheckOwn() error                                      { return errors.ErrUnsupported }
func SharesMemory(pid1, pid2 int) (bool, error)            { return false, errors.ErrUnsupported }
func CompareMemory(pid1, pid2 int) (bool, error)           { return false, errors.ErrUnsupported }
func List([]Listed) ([]Listed, error)                      { return nil, errors.ErrUnsupported }
func Processes() ([]int, error)                            { return nil, errors.ErrUnsupported }
func eachFile(int, func(fd int, name []byte) bool)         {}
func Children(pid, tid int) ([]int, error)                 { return nil, errors.ErrUnsupported }
func Tasks(pid int, buf []int) ([]int, error)              { return nil, errors.ErrUnsupported }
func Monotonic() time.Duration                             { return 0 }
func ClockOf(pid, id int) (time.Duration, bool)            { return 0, false }
func OpenMappings(pid int) (*Mappings, error)              { return nil, errors.ErrUnsupported }
func (m *Mappings) At(addr uint64) (Map, bool, error)      { return Map{}, false, errors.ErrUnsupported }
func (m *Mappings) Close() error                           { return nil }
func (m *Mappings) Quick() bool                            { return false }
func unixSocket(uint32) SocketEnd                          { return SocketEnd{} }
func OpenSocket(pid, fd int) (*Socket, error)              { return nil, errors.ErrUnsupported }
func (s *Socket) Close() error                             { return nil }
func (s *Socket) Timeout(which int) (time.Duration, error) { return 0, errors.ErrUnsupported }
func (s *Socket) TakeError() (int, error)                  { return 0, errors.ErrUnsupported }
func OpenTask(pid, tid int) (*Task, error)                 { return nil, errors.ErrUnsupported }
func UnopenedTask(pid, tid int) *Task                      { return &Task{} }
func (t *Task) Bound() bool                                { return false }
func (t *Task) SchedStat() (SchedStat, error)              { return SchedStat{}, errors.ErrUnsupported }
func (t *Task) Syscall() (Syscall, error)                  { return Syscall{}, errors.ErrUnsupported }
func (t *Task) Turn() (Turn, error)                        { return Turn{}, errors.ErrUnsupported }
func (t *Task) Stat() (Stat, error)                        { return Stat{}, errors.ErrUnsupported }
func (t *Task) Comm() (string, error)                      { return "", errors.ErrUnsupported }
func (t *Task) WaitChannel() (string, error)               { return "", errors.ErrUnsupported }
func (t *Task) Close() error                               { return nil }
func OpenTaskStats(pid int) (*TaskStats, error)            { return nil, errors.ErrUnsupported }
func (t *TaskStats) Sum() (TaskSum, error)                 { return TaskSum{}, errors.ErrUnsupported }
func (t *TaskStats) Close() error                          { return nil }
func OpenRoot(pid int) (*Root, error)                      { return nil, errors.ErrUnsupported }
func (r *Root) Open(name string) (*os.File, error)         { return nil, errors.ErrUnsupported }
func (r *Root) OpenMapped(m Map) (*os.File, error)         { return nil, errors.ErrUnsupported }
func (r *Root) IsPipe(name string) bool                    { return false }
func (r *Root) Ours() bool                                 { return false }
func (r *Root) Close() error                               { return nil }
func OpenPIDFD(pid int) (*PIDFD, error)                    { return nil, errors.ErrUnsupported }
func (p *PIDFD) Alive() bool                               { return false }
func (p *PIDFD) Wait(ctx context.Context) error            { return errors.ErrUnsupported }
func (p *PIDFD) Close() error                              { return nil }
func OpenImage(pid int) (*Image, error)                    { return nil, errors.ErrUnsupported }
func (i *Image) Current() bool                             { return false }
func (i *Image) Close() error                              { return nil }

// MonotonicOf cannot be told on this platform.
func MonotonicOf(pid int) time.Duration { return 0 }

// StandsForClosed is for Linux.
func StandsForClosed(int) bool { return false }

// SleepsInRead is for Linux.
func SleepsInRead(int) bool { return false }

// Age cannot be told on this platform.
func Age(uint64) time.Duration { return 0 }
