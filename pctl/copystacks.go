package pctl

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"ptools/internal/futex"
	"ptools/internal/mem"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// A read of a process's memory may sleep until the page is brought. It may be the process itself that
// has to bring it (userfaultfd(2)), which stands still because we hold it, or a file system that does
// not answer. So another goroutine reads the stacks. If it gets stuck it is left behind: its call
// returns when the process runs again.

const (
	// stuckAfter is how long a read may sleep.
	stuckAfter = 50 * time.Millisecond
	// stuckMost is how many reads may get stuck in one stop. After that the remaining
	// stacks are not copied.
	stuckMost = 8
)

var errStuck = errors.New("its pages did not come while the process stood still")

// CopyStacks copies the stacks of all threads, so that Thread.Stack can be called when they run again. For threads
// that wait, it also copies what is known of that (Thread.Wait). A stack that is 64 KiB deep takes 3
// to 5 µs. CopyStacks leaves out a stack whose pages another process has to bring and does not bring within 50 ms:
// Thread.Stack says so. It waits for 8 of those at most.
func (s *Snapshot) CopyStacks() {
	if s.stopped == nil {
		return
	}
	if m, err := s.p.h.Memory(); err == nil {
		s.copyApart(m)
	} else {
		for _, t := range s.threads {
			t.copyStack(s.stopped)
			if call, ok := t.futexCall(); ok {
				t.lock = readFutex(s.stopped, call.Addr)
			}
			if nr, args, ok := t.Registers.Syscall(); ok && t.State == InSyscall && !t.Registers.kernel().Is32Bit() {
				t.pointed = copyPointed(s.stopped, nr, args, t.Registers.PC())
			}
		}
	}
	for _, t := range s.threads {
		t.refresh()
	}
}

// copyApart has another goroutine read the stacks, and a further one each time that one gets stuck.
func (s *Snapshot) copyApart(m *mem.Patient) {
	var todo []*Thread
	for _, t := range s.threads {
		if t.State != Unstoppable && t.stack == nil {
			todo = append(todo, t)
		}
	}
	together := true // the small ones are read at once
	for stuck := 0; len(todo) > 0; {
		c := startCopy(m.Memory, todo, together)
		for got := range c.results() {
			t := todo[got.index]
			t.base, t.stack, t.lock, t.pointed = got.base, got.stack, got.lock, got.pointed
		}
		left := todo[:0:0]
		for _, t := range todo {
			if t.stack == nil {
				left = append(left, t)
			}
		}
		todo = left
		if len(todo) == 0 {
			return
		}
		if stuck++; !together || stuck == stuckMost {
			todo[0].leaveOut() // they are read in this order
			todo = todo[1:]
		}
		together = false
		if stuck == stuckMost {
			for _, t := range todo {
				t.leaveOut()
			}
			return
		}
	}
}

// leaveOut is for a thread whose stack cannot be copied.
func (t *Thread) leaveOut() {
	t.base, t.stack, t.stuck = t.Registers.SP()-redZone, []byte{}, true
}

// A stackCopy is one goroutine that reads stacks. It may be stuck for as long as the process stands still,
// and ends after that. Closing the Memory waits for it. It sends each stack that it has read; nothing else
// of it is looked at.
type stackCopy struct {
	tid  atomic.Int64 // its OS thread
	done chan copiedStack
}

// copiedStack is the stack of the index-th thread.
type copiedStack struct {
	index int
	base  uint64
	stack []byte
	lock  futex.Memory // around the futex that the thread waits for
	// pointed is what the arguments of its system call point to.
	pointed []futex.Memory
}

// A stackPlace is where a stack is. For a thread of a C library, end is where the thread's own
// data begins, behind its frames. futex is the address that it waits at in futex(2), or 0. regs are those of a thread in a
// system call.
type stackPlace struct {
	base, end, futex uint64
	regs             *Registers
}

// small reports whether the end is known and near.
func (p stackPlace) small() bool { return p.end-p.base <= stackStep }

// startCopy starts a stackCopy, which reads the small stacks with one call if together is true.
func startCopy(m *mem.Memory, threads []*Thread, together bool) *stackCopy {
	places := make([]stackPlace, len(threads))
	for i, t := range threads {
		places[i] = stackPlace{base: t.Registers.SP() - redZone, end: t.Registers.ThreadPointer()}
		if call, ok := t.futexCall(); ok {
			places[i].futex = call.Addr
		}
		if t.State == InSyscall && !t.Registers.kernel().Is32Bit() {
			places[i].regs = &t.Registers
		}
	}
	c := &stackCopy{done: make(chan copiedStack, len(threads))}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.done)
		c.tid.Store(int64(ptrace.ThreadID()))
		step := 1
		if together {
			step = max(1, len(places))
		}
		for i := 0; i < len(places); i += step {
			c.read(m, places[i:min(i+step, len(places))], i)
		}
	}()
	return c
}

// read reads the stacks at places, the first of which is the index-th. It reads the
// small ones with one call. Then it reads the others, and those that were short, one
// at a time.
func (c *stackCopy) read(m *mem.Memory, places []stackPlace, index int) {
	dst := make([][]byte, len(places))
	addrs := make([]uint64, len(places))
	total := uint64(0)
	for _, p := range places {
		if p.small() {
			total += p.end - p.base
		}
	}
	all := make([]byte, total)
	for i, p := range places {
		if addrs[i] = p.base; p.small() {
			n := p.end - p.base
			dst[i], all = all[:n:n], all[n:]
		}
	}
	_, _ = m.ReadVec(dst, addrs)
	for i, p := range places {
		if !p.small() || uint64(len(dst[i])) < p.end-p.base {
			dst[i] = readStack(m.User(), p.base)
		}
		copied := copiedStack{index: index + i, base: p.base, stack: dst[i], lock: readFutex(m.User(), p.futex)}
		if p.regs != nil {
			nr, args, _ := p.regs.Syscall()
			copied.pointed = copyPointed(m.User(), nr, args, p.regs.PC())
		}
		c.done <- copied
	}
}

// results yields copied stacks until all are copied, or the goroutine sleeps too long.
func (c *stackCopy) results() func(yield func(copiedStack) bool) {
	return func(yield func(copiedStack) bool) {
		timer := time.NewTimer(stuckAfter)
		defer timer.Stop()
		for {
			select {
			case got, ok := <-c.done:
				if !ok || !yield(got) {
					return
				}
				timer.Reset(stuckAfter)
			case <-timer.C:
				if c.sleeps() && len(c.done) == 0 {
					return
				}
				timer.Reset(stuckAfter)
			}
		}
	}
}

// sleeps reports whether the goroutine's thread sleeps in one of the calls that read memory.
func (c *stackCopy) sleeps() bool {
	tid := c.tid.Load()
	return tid != 0 && procfs.SleepsInRead(int(tid)) // 0: not begun
}
