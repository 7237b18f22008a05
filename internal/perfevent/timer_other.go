//go:build !linux

package perfevent

import (
	"errors"
	"time"
)

// A Timer does not exist on this platform.
type Timer struct{}

// TimerRegs is the size of Tick's registers.
const TimerRegs = 20

// MaxTimerStack is what a Tick has of a stack at most.
const MaxTimerStack = 64000

// Tick is one sample of a Timer.
type Tick struct {
	Regs   [TimerRegs]uint64
	Kernel bool
	Stack  []byte
	Chain  []uint64
}

// Timers do not exist on this platform.
type Timers struct{}

// OpenTimers fails with [errors.ErrUnsupported].
func OpenTimers() (*Timers, error) { return nil, errors.ErrUnsupported }

// Close fails with [errors.ErrUnsupported].
func (s *Timers) Close() error { return errors.ErrUnsupported }

// Open fails with [errors.ErrUnsupported].
func (s *Timers) Open(tid int, period time.Duration, stack int) (*Timer, error) {
	return nil, errors.ErrUnsupported
}

// TimerMemory returns 0.
func TimerMemory(stack int) int { return 0 }

// Next returns false.
func (t *Timer) Next(k *Tick) bool { return false }

// SetPeriod does nothing.
func (t *Timer) SetPeriod(time.Duration) {}

// Close fails with [errors.ErrUnsupported].
func (t *Timer) Close() error { return errors.ErrUnsupported }
