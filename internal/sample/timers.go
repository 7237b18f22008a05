package sample

import (
	"errors"
	"fmt"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
)

// Timers are the timers of the machine's processors, as Ticks. Nil are none.
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

// OpenTimers starts the timers, unless use says not to, or says only where they can be had and they
// cannot: then it returns nil, or an error if what is asked for takes timers.
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

// The processor column is as exact as there are ticks of processor time, of which a thread that sleeps most of
// the time has few. A tick costs much less than a round, so there are some for each.
const (
	ticksPerRound = 4
	minTickPeriod = time.Second / 400 // unless rounds follow each other more closely
)

// tickPeriod is the time between ticks where that between rounds is period.
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

// Blame is what a sampler with these timers, or without any, finds out with which threads hold the locks.
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
