package sample

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/preempt"
	"ptools/internal/source"
)

// looker looks at one process.
type looker struct {
	p       *process
	period  time.Duration
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	hot    []hotThread // threads that have run lately, the busiest first
	sights []*sight    // not yet read
	spare  []*sight    // to be used again
	cost   Cost        // stops and pauses, not yet read
	is32   bool
	pages  map[int][]uint64 // that are copied with the stacks of threads

	ran []*thread // of the sampler: those of hot

	// The rest is used on the control goroutine.
	seat    *preempt.Seat
	seated  bool
	stacks  source.Stacks
	files   map[int]*lookedAt // of the threads of hot
	look    look
	soonest time.Duration // in which a processor was taken
	page    [perfevent.PageSize]byte
}

// lookedAt is a thread that looks look for.
type lookedAt struct {
	source.TaskFiles
	vain int // looks that were made for it since the last that has met it
}

// hotThread is a thread that has run lately.
type hotThread struct {
	tid  int
	heat time.Duration // its processor time of late
	wary bool          // it must not be stopped

	run       uint64 // its processor time before a processor was taken
	preempted int64  // how often it had been preempted before; -1: not known
}

// look is one look.
type look struct {
	hot     []hotThread
	tids    []int
	sight   *sight
	taken   bool // the processor has been taken
	met     int  // the thread that had it, if that is to be stopped
	visited bool
	begun   time.Time
	waited  uint64 // how long the thread that is to be stopped had waited for processors
}

func newLooker(p *process, period time.Duration) *looker {
	k := &looker{p: p, period: period, files: make(map[int]*lookedAt), soonest: time.Second}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// open makes the control thread ready to take processors.
func (k *looker) open() (err error) {
	if k.stacks, err = k.p.Stacks(); err != nil {
		return err
	}
	err = syscall.ESRCH
	_, lookErr := k.p.Control.LookIf(k.ctx, k.p.Control.Threads(), func(int) bool {
		if k.seat == nil {
			k.seat, err = preempt.Open()
		}
		return false
	}, nil, nil)
	if lookErr != nil {
		return lookErr
	}
	return err
}

// close ends the looks.
func (k *looker) close() {
	k.cancel()
	k.running.Wait()
	for _, f := range k.files {
		f.Close()
	}
	if k.seat != nil {
		k.seat.Close()
	}
	if k.stacks != nil {
		k.stacks.Close()
	}
}

// run looks at random moments. It ends with ctx or the process.
func (k *looker) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-k.p.Control.Done():
			return
		case <-timer.C:
		}
		if k.lookOnce() != nil {
			return
		}
		timer.Reset(time.Duration(rand.Int64N(int64(2 * (k.period - mostAside)))))
	}
}

// lookOnce takes one look.
func (k *looker) lookOnce() error {
	l := &k.look
	k.mu.Lock()
	*l = look{hot: append(l.hot[:0], k.hot...), tids: l.tids[:0], sight: l.sight}
	unable := k.is32
	if n := len(k.spare); n > 0 && l.sight == nil {
		l.sight, k.spare = k.spare[n-1], k.spare[:n-1]
	}
	k.mu.Unlock()
	if unable || len(l.hot) == 0 || !k.hasStacks() {
		return nil
	}
	if l.sight == nil {
		l.sight = &sight{stack: make([]byte, lookStack)}
	}
	for _, h := range l.hot {
		l.tids = append(l.tids, h.tid)
	}
	until := time.Now().Add(longestLook)
	_, err := k.p.Control.LookIf(k.ctx, l.tids, k.meets, func() bool { return time.Now().After(until) }, k.visit)
	return err
}

// hasStacks makes sure that the memory is that of the present image.
func (k *looker) hasStacks() bool {
	if !k.stacks.Stale() {
		return true
	}
	stacks, err := k.p.Stacks()
	if err != nil {
		return false // it has ended, or is between two images
	}
	k.stacks.Close()
	k.stacks = stacks
	return true
}

// keep hands a sight to the sampler.
func (k *looker) keep() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.sights) >= mostSights {
		k.cost.Lost++
		return
	}
	k.sights = append(k.sights, k.look.sight)
	k.look.sight = nil
}

// read passes what has been seen to the sampler, whose goroutine calls it.
func (k *looker) read() {
	k.mu.Lock()
	sights, cost := k.sights, k.cost
	k.sights, k.cost = nil, Cost{}
	k.mu.Unlock()
	k.p.sampler.cost.Add(&cost)
	for _, s := range sights {
		k.p.ticking.takeSight(s)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spare = append(k.spare, sights...)
}

// leastHeat is the heat of a thread that has not run.
const leastHeat time.Duration = 1

// meetAll begins with all threads, since it is not known yet which of them run.
func (k *looker) meetAll() {
	for _, t := range k.p.roster.threads[:min(len(k.p.roster.threads), mostHot)] {
		t.heat.time = leastHeat
		k.ran = append(k.ran, t)
	}
	k.warm()
}

// warm tells which threads have run of late, after a round.
func (k *looker) warm() {
	for _, t := range k.p.activity.examined {
		if t.heat.time == 0 && t.usage.used > t.heat.used {
			k.ran = append(k.ran, t)
		}
		t.heat.time += time.Duration(t.usage.used - t.heat.used)
		t.heat.used = t.usage.used
	}
	k.ran = slices.DeleteFunc(k.ran, func(t *thread) bool { return k.p.roster.byTID[t.tid] != t })
	slices.SortStableFunc(k.ran, func(a, b *thread) int { return int(b.heat.time - a.heat.time) })
	for i, t := range k.ran {
		if t.heat.time -= t.heat.time / 8; i >= mostHot {
			t.heat.time = 0
		}
	}
	k.ran = k.ran[:min(len(k.ran), mostHot)]
	k.mu.Lock()
	defer k.mu.Unlock()
	k.is32 = k.p.image != nil && k.p.image.Is32Bit()
	k.hot = k.hot[:0]
	for _, t := range k.ran {
		k.hot = append(k.hot, hotThread{tid: t.tid, heat: t.heat.time, wary: k.p.image == nil || k.p.looking.waryOf(t)})
	}
}
