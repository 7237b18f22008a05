package sample

import (
	"math/rand/v2"
	"slices"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptrace"
	"ptools/internal/source"
)

// This is the part of looks that runs on the control goroutine.

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
	chosen, stat := k.choose()
	if chosen == nil {
		return
	}
	if stat.RealTime || k.inVain(chosen) {
		k.stop(chosen)
		return
	}
	k.leave() // if the thread of the last look has ended
	k.arm()
	k.seated = true
	began, late, err := k.seat.Take(stat.Processor, leastAside+time.Duration(rand.Int64N(int64(mostAside-leastAside))))
	if err != nil { // this program may not run there
		k.stop(chosen)
		return
	}
	k.soonest = min(k.soonest, late)
	for i := range l.hot {
		h := &l.hot[i]
		f := k.files[h.tid]
		if f == nil {
			continue
		}
		sched, err := f.SchedStat()
		if err == nil && sched.Run == h.run {
			continue // no processor was taken from it
		}
		var turn procfs.Turn
		if err == nil {
			turn, err = f.Turn()
		}
		if err != nil {
			k.forget(h.tid)
			continue
		}
		if l.waited = sched.Wait; turn.At == began {
			k.files[h.tid].vain = 0
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

// A thread that so many looks at its processor have not met, although it runs for more than vainHeat, may be one from which no
// processor can be taken. Every second of these looks then stops it, wherever it is, if it runs.
const (
	mostVain = 50
	vainHeat = 2 * time.Millisecond
)

// inVain counts the looks that are made for a thread. It reports whether this one is to stop it.
func (k *looker) inVain(h *hotThread) bool {
	f := k.files[h.tid]
	if h.heat > vainHeat {
		f.vain++
	}
	return f.vain > mostVain && f.vain%2 == 0
}

// stop has a thread stopped if it runs.
func (k *looker) stop(h *hotThread) {
	f := k.file(h.tid)
	if f == nil || h.wary {
		return
	}
	call, err := f.Syscall()
	if err != nil || !call.Running {
		return
	}
	if sched, err := f.SchedStat(); err == nil {
		k.look.waited = sched.Wait
	}
	k.look.sight.begin(h.tid, call)
	k.look.met, k.look.begun = h.tid, time.Now()
}

// choose returns a thread, the more often the more it runs, and its stat, which has the processor on which it has run last.
func (k *looker) choose() (*hotThread, procfs.Stat) {
	hot := k.look.hot
	at := time.Duration(rand.Int64N(int64(k.look.heat()) + int64(len(hot))))
	for i := range hot {
		if at -= hot[i].heat + 1; at >= 0 {
			continue
		}
		f := k.file(hot[i].tid)
		if f == nil {
			break
		}
		stat, err := f.Stat()
		if err != nil {
			k.forget(hot[i].tid)
			break
		}
		return &hot[i], stat
	}
	return nil, procfs.Stat{}
}

// meet handles the thread that had the processor before. forced says that the processor was taken from it; else it has gone
// to sleep of itself, when the processor was late in coming. late is how long that took.
func (k *looker) meet(h *hotThread, f source.TaskFiles, forced bool, late time.Duration) {
	l := &k.look
	call, err := f.Syscall()
	if err != nil {
		call, err = procfs.Syscall{Running: true}, nil
		if stat, err := f.Stat(); err == nil && asleepIn(stat.State) {
			return // which call it sleeps in is not shown
		}
	}
	s := l.sight
	s.begin(h.tid, call)
	switch asleep := !call.Running; {
	case asleep && call.Nr < 0: // it is stopped by a tracer, or waits for a page
	case !forced && (!asleep || late > k.soonest+promptly): // it may have gone to sleep long after the moment
	case asleep:
		k.copyAsleep(f, call)
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
	visited := time.Now()
	l.sight.regs = *regs
	nr, result, inCall := regs.SyscallReturn()
	l.sight.short = inCall && result >= 0 && fellShort(nr, uint64(result), regs.SyscallArgs()) && k.p.looking.shortens(nr, regs.SyscallArgs())
	k.copyStack(l.sight, regs.SP())
	k.copyPages(l.sight, k.wanted(tid))
	if m, ok := k.stacks.CodeAt(regs.PC()); ok && m.Perm&procfs.Exec != 0 {
		l.sight.code = m
	}
	waited := time.Duration(0) // for a processor
	if sched, err := k.files[tid].SchedStat(); err == nil {
		waited = time.Duration(sched.Wait - l.waited)
	}
	k.mu.Lock()
	k.cost.Stops++
	k.cost.pause(max(time.Since(l.begun)-waited, time.Since(visited)))
	k.mu.Unlock()
	k.keep()
}

// copyStack copies the stack of a sight.
func (k *looker) copyStack(s *sight, sp uint64) {
	s.base, s.stack = sp-source.RedZone, s.stack[:lookStack]
	got, _ := k.stacks.ReadAt(s.stack, int64(s.base)) // a short read is the end of the stack
	s.stack = s.stack[:max(got, 0)]
	s.pages.Reset()
}

// watch has pages copied with the stacks of a thread.
func (k *looker) watch(tid int, pages []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pages == nil || len(k.pages) >= mostOutlying {
		k.pages = make(map[int][]uint64)
	}
	k.pages[tid] = slices.Clone(pages)
}

// wanted returns the pages that are copied with the stack of a thread. They are not written to.
func (k *looker) wanted(tid int) []uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pages[tid]
}

// copyPages copies pages of a thread that stands still.
func (k *looker) copyPages(s *sight, pages []uint64) {
	for _, addr := range pages {
		if n, _ := k.stacks.ReadAt(k.page[:], int64(addr)); n == len(k.page) {
			s.pages.Add(addr, k.page[:])
		}
	}
}

// copyAsleep copies the stack of a thread that sleeps in a call. Nothing holds it there: other pages belong to the stack
// only if it has not run meanwhile.
func (k *looker) copyAsleep(f source.TaskFiles, call procfs.Syscall) {
	s := k.look.sight
	pages := k.wanted(s.tid)
	before, err := f.SchedStat()
	if now, errNow := f.Syscall(); err != nil || errNow != nil || now != call {
		pages = nil
	}
	k.copyStack(s, call.SP)
	k.copyPages(s, pages)
	if after, err := f.SchedStat(); err != nil || after != before {
		s.pages.Reset()
	}
}

// file returns the files of a thread; nil if it has ended.
func (k *looker) file(tid int) *lookedAt {
	if f := k.files[tid]; f != nil {
		return f
	}
	files, err := k.p.Thread(tid)
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
	f := &lookedAt{TaskFiles: files}
	k.files[tid] = f
	return f
}

func (k *looker) forget(tid int) {
	if f := k.files[tid]; f != nil {
		f.Close()
		delete(k.files, tid)
	}
}
