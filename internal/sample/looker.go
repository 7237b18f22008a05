package sample

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"ptools/internal/preempt"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
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

	ran []*thread // of the sampler: those of hot

	// The rest is used on the control goroutine.
	seat    *preempt.Seat
	seated  bool
	stacks  Stacks
	files   map[int]TaskFiles // of the threads of hot
	look    look
	soonest time.Duration // in which a processor was taken
	buf     [1][]byte
	addr    [1]uint64
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
}

func newLooker(p *process, period time.Duration) *looker {
	k := &looker{p: p, period: period, files: make(map[int]TaskFiles), soonest: time.Second}
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

// meets takes the processor at the first of the threads. It reports whether a thread is the one that ran there, and is to
// be stopped.
func (k *looker) meets(tid int) bool {
	l := &k.look
	if !l.taken {
		l.taken = true
		if k.take(); l.met == 0 {
			k.leave()
		}
	}
	return tid == l.met
}

// leave gives up the processor, and the thread that ran there may run on. Before it has been asked to stop it must not.
func (k *looker) leave() {
	if k.seated {
		k.seat.Leave()
		k.seated = false
	}
}

// take takes a processor, and finds out which thread ran there.
func (k *looker) take() {
	l := &k.look
	cpu, ok := k.processor()
	if !ok {
		return
	}
	k.leave() // if the thread of the last look has ended
	k.arm()
	k.seated = true
	began, late, err := k.seat.Take(cpu, leastAside+time.Duration(rand.Int64N(int64(mostAside-leastAside))))
	if err != nil {
		return
	}
	k.soonest = min(k.soonest, late)
	for i := range l.hot {
		h := &l.hot[i]
		f := k.files[h.tid]
		if f == nil {
			continue
		}
		if sched, err := f.SchedStat(); err != nil || sched.Run == h.run {
			continue // no processor was taken from it
		}
		turn, err := f.Turn()
		if err != nil {
			k.forget(h.tid)
			continue
		}
		if turn.At == began {
			k.meet(h, f, turn.Preempted > h.preempted, late)
			return
		}
	}
}

// seldom is the part of all processor time below which a thread counts as one that runs seldom: how often it was preempted is
// then not read before each look.
const seldom = 32

// arm takes the readings before a processor is taken.
func (k *looker) arm() {
	sum := k.look.heat()
	for i := range k.look.hot {
		h := &k.look.hot[i]
		h.run, h.preempted = 0, -1
		f := k.file(h.tid)
		if f == nil {
			continue
		}
		if sched, err := f.SchedStat(); err == nil {
			h.run = sched.Run
		}
		if h.heat < sum/seldom {
			continue
		}
		if turn, err := f.Turn(); err == nil {
			h.preempted = turn.Preempted
		}
	}
}

// heat returns the processor time of all threads of late.
func (l *look) heat() (sum time.Duration) {
	for _, h := range l.hot {
		sum += h.heat
	}
	return sum
}

// processor returns the processor on which a thread has run last. A thread is chosen the more often the more it runs.
func (k *looker) processor() (cpu int, ok bool) {
	hot := k.look.hot
	at := time.Duration(rand.Int64N(int64(k.look.heat()) + int64(len(hot))))
	for _, h := range hot {
		if at -= h.heat + 1; at >= 0 {
			continue
		}
		f := k.file(h.tid)
		if f == nil {
			return 0, false
		}
		stat, err := f.Stat()
		if err != nil {
			k.forget(h.tid)
		}
		return stat.Processor, err == nil
	}
	return 0, false
}

// meet handles the thread that had the processor before. forced says that the processor was taken from it; else it has gone
// to sleep of itself, when the processor was late in coming. late is how long that took.
func (k *looker) meet(h *hotThread, f TaskFiles, forced bool, late time.Duration) {
	l := &k.look
	call, err := f.Syscall()
	if err != nil {
		call, err = procfs.Syscall{Running: true}, nil
		if stat, err := f.Stat(); err == nil && asleepIn(stat.State) {
			return // which call it sleeps in is not shown
		}
	}
	s := l.sight
	s.tid, s.asleep, s.hidden, s.call = h.tid, !call.Running, false, call
	switch asleep := !call.Running; {
	case asleep && call.PC == 0:
	case !forced && (!asleep || late > k.soonest+promptly): // it may have gone to sleep long after the moment
	case asleep:
		k.copyStack(s, call.SP)
		k.keep()
	case h.wary:
		s.hidden = true
		k.keep()
	default:
		l.met, l.begun = h.tid, time.Now()
	}
}

// visit takes the registers and the stack of the thread that ran.
func (k *looker) visit(tid int, regs *ptrace.Regs) {
	l := &k.look
	if tid != l.met || l.visited {
		return
	}
	l.visited = true
	defer k.leave()
	l.sight.regs = *regs
	nr, result, inCall := regs.SyscallReturn()
	l.sight.short = inCall && result >= 0 && fellShort(nr, uint64(result), regs.SyscallArgs()) && k.p.looking.shortens(nr, regs.SyscallArgs())
	k.copyStack(l.sight, regs.SP())
	k.mu.Lock()
	k.cost.Stops++
	k.cost.pause(time.Since(l.begun))
	k.mu.Unlock()
	k.keep()
}

// copyStack copies the stack of a sight.
func (k *looker) copyStack(s *sight, sp uint64) {
	s.base, s.stack = sp-redZone, s.stack[:lookStack]
	k.buf[0], k.addr[0] = s.stack, s.base
	got, _ := k.stacks.ReadVec(k.buf[:], k.addr[:]) // a short read is the end of the stack
	s.stack = s.stack[:max(got, 0)]
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

// file returns the files of a thread; nil if it has ended.
func (k *looker) file(tid int) TaskFiles {
	if f := k.files[tid]; f != nil {
		return f
	}
	f, err := k.p.Thread(tid)
	if err != nil {
		return nil
	}
	if len(k.files) >= 2*mostHot {
		for old := range k.files {
			if !slices.ContainsFunc(k.look.hot, func(h hotThread) bool { return h.tid == old }) {
				k.forget(old)
			}
		}
	}
	k.files[tid] = f
	return f
}

func (k *looker) forget(tid int) {
	if f := k.files[tid]; f != nil {
		f.Close()
		delete(k.files, tid)
	}
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

// meetAll begins with all threads, since it is not known yet which of them run.
func (k *looker) meetAll() {
	for _, t := range k.p.roster.threads[:min(len(k.p.roster.threads), mostHot)] {
		t.heat = 1
		k.ran = append(k.ran, t)
	}
	k.warm()
}

// warm tells which threads have run of late, after a round.
func (k *looker) warm() {
	for _, t := range k.p.activity.examined {
		if t.heat == 0 && t.usage.used > t.heated {
			k.ran = append(k.ran, t)
		}
		t.heat += time.Duration(t.usage.used - t.heated)
		t.heated = t.usage.used
	}
	k.ran = slices.DeleteFunc(k.ran, func(t *thread) bool { return k.p.roster.byTID[t.tid] != t })
	slices.SortStableFunc(k.ran, func(a, b *thread) int { return int(b.heat - a.heat) })
	for i, t := range k.ran {
		if t.heat -= t.heat / 8; i >= mostHot {
			t.heat = 0
		}
	}
	k.ran = k.ran[:min(len(k.ran), mostHot)]
	k.mu.Lock()
	defer k.mu.Unlock()
	k.is32 = k.p.image != nil && k.p.image.Is32Bit()
	k.hot = k.hot[:0]
	for _, t := range k.ran {
		k.hot = append(k.hot, hotThread{tid: t.tid, heat: t.heat, wary: k.p.looking.waryOf(t)})
	}
}
