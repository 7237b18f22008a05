package preempt

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/procfs"
)

// A Seat takes processors for one thread of the operating system. That thread calls Take and Leave; any may call Close.
type Seat struct {
	self     *procfs.Task
	tid      int
	timer    int // a timerfd
	affinity unix.CPUSet
	attr     *unix.SchedAttr // as it was; nil: turns are not shortened
}

// shortest is how long a turn on a processor the caller asks for. It is the shortest that the kernel takes.
const shortest = 100 * time.Microsecond

// Open returns the Seat of the calling thread, which must be locked to its goroutine. It is an
// [errors.ErrUnsupported] on a kernel without CONFIG_SCHED_DEBUG.
func Open() (*Seat, error) {
	s := &Seat{tid: unix.Gettid()}
	var err error
	if s.self, err = procfs.OpenTask(os.Getpid(), s.tid); err != nil {
		return nil, err
	}
	if _, err = s.self.Turn(); err == nil {
		err = unix.SchedGetaffinity(0, &s.affinity)
	}
	if err != nil {
		s.self.Close()
		return nil, err
	}
	if s.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC); err != nil {
		s.self.Close()
		return nil, err
	}
	if attr, err := unix.SchedGetAttr(0, 0); err == nil && attr.Policy == unix.SCHED_NORMAL {
		attr.Runtime = 0 // the kernel's own choice
		s.attr = attr
		short := *attr
		short.Runtime = uint64(shortest)
		unix.SchedSetAttr(0, &short, 0) // an error before Linux 5.3, where it would do nothing
	}
	return s, nil
}

// Take sleeps for a time, and then takes a processor. It returns when the thread was given the processor, by the clock of
// [procfs.Turn], and how long after the end of the sleep that was. Leave must be called, also after an error. The
// error is EINVAL if the thread may not run on that processor.
//
// The timer is one of that processor. A timer of another one would interrupt the thread that runs there, for which the
// first may be about to wait.
func (s *Seat) Take(cpu int, sleep time.Duration) (began int64, late time.Duration, err error) {
	if err := bind(cpu); err != nil {
		return 0, 0, err
	}
	moment := now() + sleep
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(moment))}
	if err := unix.TimerfdSettime(s.timer, unix.TFD_TIMER_ABSTIME, &spec, nil); err != nil {
		return 0, 0, err
	}
	var times [8]byte
	for err = unix.EINTR; err == unix.EINTR; {
		_, err = unix.Read(s.timer, times[:])
	}
	if err != nil {
		return 0, 0, err
	}
	late = now() - moment
	turn, err := s.self.Turn()
	return turn.At, late, err
}

// bind binds the thread to a processor.
func bind(cpu int) error {
	var one unix.CPUSet
	one.Set(cpu)
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &one))
}

// Leave lets the thread run on all processors again.
func (s *Seat) Leave() {
	unix.SchedSetaffinity(s.tid, &s.affinity)
}

// Close undoes what Open and Take have changed, and releases what is open.
func (s *Seat) Close() error {
	s.Leave()
	if s.attr != nil {
		unix.SchedSetAttr(s.tid, s.attr, 0)
	}
	return errors.Join(s.self.Close(), unix.Close(s.timer))
}

func now() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}
