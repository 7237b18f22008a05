//go:build !linux

package procfs

import (
	"context"
	"errors"
	"os"
	"time"
)

func (p *path) read([]byte) ([]byte, error) { return nil, errors.ErrUnsupported }
func (p *path) readlink() (string, error)   { return "", errors.ErrUnsupported }
func (p *path) gone() error                 { return errors.ErrUnsupported }

func readMemory(pid int, b []byte, addr uint64) int { return 0 }

// CheckOwn returns errors.ErrUnsupported: there is no such /proc on this platform.
func CheckOwn() error { return errors.ErrUnsupported }

// SharesMemory is not supported on this platform.
func SharesMemory(pid1, pid2 int) (bool, error) { return false, errors.ErrUnsupported }

// ErrUnknown is not returned on this platform.
var ErrUnknown = errors.ErrUnsupported

// CompareMemory is not supported on this platform.
func CompareMemory(pid1, pid2 int) (bool, error) { return false, errors.ErrUnsupported }

// Processes is not supported on this platform.
func Processes() ([]int, error) { return nil, errors.ErrUnsupported }

// Mappings cannot be opened on this platform.
type Mappings struct{}

// OpenMappings is not supported on this platform.
func OpenMappings(pid int) (*Mappings, error) { return nil, errors.ErrUnsupported }

// The methods of Mappings are those of Linux.
func (m *Mappings) At(addr uint64) (Map, bool, error) { return Map{}, false, errors.ErrUnsupported }
func (m *Mappings) Close() error                      { return nil }

// Children is not supported on this platform.
func Children(pid, tid int) ([]int, error) { return nil, errors.ErrUnsupported }

// Socket is not supported on this platform.
type Socket struct{}

// The timeouts of a socket.
const (
	ReceiveTimeout = iota
	SendTimeout
)

// OpenSocket is not supported on this platform.
func OpenSocket(pid, fd int) (*Socket, error)                 { return nil, errors.ErrUnsupported }
func (s *Socket) Close() error                                { return nil }
func (s *Socket) Timeout(which int) (time.Duration, error)    { return 0, errors.ErrUnsupported }
func (s *Socket) SetTimeout(which int, d time.Duration) error { return errors.ErrUnsupported }
func (s *Socket) TakeError() (int, error)                     { return 0, errors.ErrUnsupported }

// Monotonic is not supported on this platform.
func Monotonic() time.Duration { return 0 }

// Tasks is not supported on this platform.
func Tasks(pid int, buf []int) ([]int, error) { return nil, errors.ErrUnsupported }

// A Task cannot be opened on this platform.
type Task struct{ pid, tid int }

// OpenTask is not supported on this platform.
func OpenTask(pid, tid int) (*Task, error) { return nil, errors.ErrUnsupported }

// UnopenedTask returns a Task that nothing can be read of.
func UnopenedTask(pid, tid int) *Task { return &Task{pid: pid, tid: tid} }

// The methods of a Task are those of Linux.
func (t *Task) Bound() bool                   { return false }
func (t *Task) SchedStat() (SchedStat, error) { return SchedStat{}, errors.ErrUnsupported }
func (t *Task) Syscall() (Syscall, error)     { return Syscall{}, errors.ErrUnsupported }
func (t *Task) Stat() (Stat, error)           { return Stat{}, errors.ErrUnsupported }
func (t *Task) Comm() (string, error)         { return "", errors.ErrUnsupported }
func (t *Task) WaitChannel() (string, error)  { return "", errors.ErrUnsupported }
func (t *Task) Close() error                  { return nil }

// A TaskStats cannot be opened on this platform.
type TaskStats struct{}

// OpenTaskStats is not supported on this platform.
func OpenTaskStats(pid int) (*TaskStats, error) { return nil, errors.ErrUnsupported }

// The methods of a TaskStats are those of Linux.
func (t *TaskStats) Sum() (TaskSum, error) { return TaskSum{}, errors.ErrUnsupported }
func (t *TaskStats) Close() error          { return nil }

// A Root cannot be opened on this platform.
type Root struct{}

// OpenRoot is not supported on this platform.
func OpenRoot(pid int) (*Root, error) { return nil, errors.ErrUnsupported }

// The methods of a Root are those of Linux.
func (r *Root) Open(name string) (*os.File, error) { return nil, errors.ErrUnsupported }
func (r *Root) OpenMapped(m Map) (*os.File, error) { return nil, errors.ErrUnsupported }
func (r *Root) Ours() bool                         { return false }
func (r *Root) Close() error                       { return nil }

// A PIDFD cannot be opened on this platform.
type PIDFD struct{}

// OpenPIDFD is not supported on this platform.
func OpenPIDFD(pid int) (*PIDFD, error) { return nil, errors.ErrUnsupported }

// The methods of a PIDFD are those of Linux.
func (p *PIDFD) Alive() bool                    { return false }
func (p *PIDFD) Wait(ctx context.Context) error { return errors.ErrUnsupported }
func (p *PIDFD) Close() error                   { return nil }

// An Image cannot be opened on this platform.
type Image struct{}

// OpenImage is not supported on this platform.
func OpenImage(pid int) (*Image, error) { return nil, errors.ErrUnsupported }

// The methods of an Image are those of Linux.
func (i *Image) Current() bool { return false }
func (i *Image) Close() error  { return nil }
