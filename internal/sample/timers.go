package sample

import (
	"errors"
	"fmt"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
)

// Timers are the timers of the machine's processors, as Ticks. A nil *Timers stands for none.
type Timers struct {
	*perfevent.Ticker
	symbols *procfs.KernelSymbols
	peeker  *perfevent.Peeker // nil: not asked for, or not to be had
}

// TimersOptions say what timers are to do.
type TimersOptions struct {
	Period time.Duration // between rounds
	Kernel bool          // ticks have the addresses in the kernel
	Follow bool          // descendants are met too
	Blame  bool          // threads that hold locks are looked at while they run
}

// OpenTimers starts the timers. It returns nil if use is TimersOff, or if it is TimersAuto and they
// cannot be had. It returns an error if use is TimersOnly and they cannot be had, or if o.Kernel asks
// for timers and there are none.
func OpenTimers(use UseTimers, o TimersOptions) (*Timers, error) {
	if use == TimersOff {
		if o.Kernel {
			return nil, errors.New("kernel frames need timers")
		}
		return nil, nil
	}
	kernel, follow := o.Kernel, perfevent.FollowNone
	if o.Follow {
		follow = perfevent.FollowAuto
	}
	t := new(Timers)
	var err error
	if kernel {
		if t.symbols, err = procfs.ReadKernelSymbols(); err != nil {
			return nil, fmt.Errorf("kernel frames: %w", err)
		}
	}
	t.Ticker, err = perfevent.OpenTicker(perfevent.TickerOptions{Period: tickPeriod(o.Period), Stack: perfevent.MaxStack, Kernel: kernel, Follow: follow})
	switch {
	case err == nil:
		if o.Blame {
			t.peeker, _ = perfevent.OpenPeeker() // without it holders that run are not seen
		}
		return t, nil
	case use == TimersOnly || kernel:
		return nil, err
	}
	return nil, nil
}

// The exactness of the processor column depends on the number of ticks. A thread that sleeps most of the time
// gets few. A tick costs much less than a round, so there are several for each round.
const (
	ticksPerRound = 4
	minTickPeriod = time.Second / 400 // unless rounds follow each other more closely
)

// tickPeriod returns the time between ticks for a time between rounds.
func tickPeriod(period time.Duration) time.Duration { return pacedPeriod(period, 0) }

// Want has a process sampled.
func (t *Timers) Want(pid int) error {
	if t == nil {
		return nil
	}
	return t.Ticker.Want(pid)
}

// KernelName names an address in the kernel.
func (t *Timers) KernelName(addr uint64) string { return t.symbols.Name(addr) }

// Blame returns the Blame for a sampler with these timers, or without any.
func (t *Timers) Blame() *Blame {
	if t == nil || t.peeker == nil {
		return &Blame{}
	}
	return &Blame{Peek: t.peeker.Peek}
}

// Close ends the timers.
func (t *Timers) Close() error {
	if t == nil {
		return nil
	}
	if t.peeker != nil {
		t.peeker.Close()
	}
	return t.Ticker.Close()
}
