package sample

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptrace"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// fakeClock passes as soon as a goroutine waits.
type fakeClock struct {
	now   time.Duration
	delay func(due time.Duration) time.Duration // how late a tick is seen
	run   func(from, to time.Duration)          // what the world does meanwhile
}

func (c *fakeClock) Now() time.Duration { return c.now }

func (c *fakeClock) Until(ctx context.Context, t time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.delay != nil {
		t += c.delay(t)
	}
	if t > c.now {
		if c.run != nil {
			c.run(c.now, t)
		}
		c.now = t
	}
	return nil
}

// fakeThread behaves as the kernel shows a thread.
type fakeThread struct {
	world     *fakeWorld
	tid       int
	sched     procfs.SchedStat
	call      procfs.Syscall
	state     byte
	stack     []uint64 // program counters, innermost first
	unmovable bool     // a stop does not reach it
	hidden    bool     // unwinding needs a register that passive looks lack
	secret    bool     // the system call may not be read
	where     string
	stops     int
	reads     int // of schedstat
	born      uint64
}

func (t *fakeThread) SchedStat() (procfs.SchedStat, error) {
	if t.state == 'X' {
		return procfs.SchedStat{}, syscall.ESRCH
	}
	t.reads++
	if f := t.world.onSched; f != nil {
		f(t)
	}
	return t.sched, nil
}

func (t *fakeThread) Syscall() (procfs.Syscall, error) {
	if t.state == 'X' {
		return procfs.Syscall{}, syscall.ESRCH
	}
	if t.secret {
		return procfs.Syscall{}, syscall.EACCES
	}
	return t.call, nil
}

func (t *fakeThread) Stat() (procfs.Stat, error) {
	return procfs.Stat{State: t.state, Comm: "fake"}, nil
}
func (t *fakeThread) Comm() (string, error) { return "fake", nil }
func (t *fakeThread) WaitChannel() (string, error) {
	return t.where, nil
}
func (t *fakeThread) Turn() (procfs.Turn, error) { return procfs.Turn{}, errors.ErrUnsupported }
func (t *fakeThread) Close() error               { return nil }

// block puts the thread into a system call.
func (t *fakeThread) block(nr int64, stack ...uint64) {
	t.call = procfs.Syscall{Nr: nr, SP: uint64(t.tid) << 20, PC: stack[0]}
	t.state, t.stack = 'S', stack
	t.sched.Slices++
}

// spin lets the thread run.
func (t *fakeThread) spin(stack ...uint64) {
	t.call = procfs.Syscall{Running: true, Nr: -1}
	t.state, t.stack = 'R', stack
}

// fakeWorld is a process: its controller, image and threads.
type fakeWorld struct {
	threads map[int]*fakeThread
	gen     uint64
	done    chan struct{}
	stale   bool
	opened  int // images
	looks   int
	exited  time.Duration
	slices  uint64 // of threads that have ended
	yields  uint64
	records []perfevent.Record
	lost    int64
	seen    [][]uint64 // stacks that ticks have met
	stray   uint64     // one of this many stacks leads to memory that is not in the copy; 0: none
	sums    int        // how often the sum was asked for
	onSum   func()
	refuse  error // what asking for the sum says
	onSched func(*fakeThread)
	onLook  func()
	is32Bit bool
	miss    map[uint64]bool // program counters in no known mapping
	regs    ptrace.Regs
	atOnce  int // readings of all threads
	onTasks func()
	memory  func(p []byte, addr uint64)
}

func newWorld(threads int) *fakeWorld {
	w := &fakeWorld{threads: make(map[int]*fakeThread), done: make(chan struct{})}
	for i := range threads {
		w.start(100+i).block(202, 0x10, uint64(0x1000+i%10))
	}
	return w
}

func (w *fakeWorld) start(tid int) *fakeThread {
	t := &fakeThread{world: w, tid: tid, born: 1}
	w.threads[tid] = t
	w.gen++
	return t
}

func (w *fakeWorld) end(tid int) {
	t := w.threads[tid]
	t.state = 'X'
	w.exited += time.Duration(t.sched.Run)
	w.slices += t.sched.Slices
	delete(w.threads, tid)
	w.gen++
}

func (w *fakeWorld) source() *source.Process {
	return &source.Process{
		PID:     100,
		Control: w,
		Thread: func(tid int) (source.TaskFiles, error) {
			if t := w.threads[tid]; t != nil {
				return t, nil
			}
			return nil, syscall.ESRCH
		},
		Image: func() (source.Image, error) {
			w.stale = false
			w.opened++
			return &fakeImage{world: w, number: w.opened}, nil
		},
		File: func(fd uint32) (string, error) {
			return map[uint32]string{3: "/dev/pts/0", 4: "pipe:[1]"}[fd], nil
		},
		CPU: func() (time.Duration, error) {
			sum := w.exited
			for _, t := range w.threads {
				sum += time.Duration(t.sched.Run)
			}
			return sum, nil
		},
		Sum: func() (source.Sum, error) { return fakeSum{w}, nil },
	}
}

// fakeSum is the sum over a world.
type fakeSum struct{ *fakeWorld }

func (w fakeSum) Sum() (procfs.TaskSum, error) {
	if w.onSum != nil {
		w.onSum()
	}
	w.sums++
	sum := procfs.TaskSum{SchedStat: procfs.SchedStat{Slices: w.slices}, Yields: w.yields}
	for _, t := range w.threads {
		sum.Slices += t.sched.Slices
	}
	return sum, w.refuse
}

func (w fakeSum) Close() error { return nil }

func (w *fakeWorld) Threads() []int {
	tids := make([]int, 0, len(w.threads))
	for tid := range w.threads {
		tids = append(tids, tid)
	}
	return tids
}

func (w *fakeWorld) Generation() uint64        { return w.gen }
func (w *fakeWorld) GroupStop() syscall.Signal { return 0 }
func (w *fakeWorld) Done() <-chan struct{}     { return w.done }

func (w *fakeWorld) LookIf(_ context.Context, tids []int, ready func(int) bool, _ func() bool, visit func(int, *ptrace.Regs)) (int, error) {
	w.looks++
	if w.onLook != nil {
		w.onLook()
	}
	missed := 0
	for _, tid := range tids {
		t := w.threads[tid]
		if t == nil || ready != nil && !ready(tid) || w.threads[tid] != t || t.unmovable {
			missed++
			continue
		}
		t.stops++
		if !t.call.Running {
			t.sched.Slices += 2
			t.sched.Run += 20_000
		}
		r := &w.regs
		r.SetPC(uint64(tid))
		setRegister(r, "OrigRax", uint64(t.call.Nr))
		setRegister(r, "FsBase", uint64(tid))
		visit(tid, r)
	}
	return missed, nil
}

// fakeImage unwinds by asking the thread.
type fakeImage struct {
	world  *fakeWorld
	number int
	closed bool
}

func (m *fakeImage) Is32Bit() bool      { return m.world.is32Bit }
func (m *fakeImage) Executable() string { return "/bin/fake" }
func (m *fakeImage) Stale() bool        { return m.world.stale || m.number != m.world.opened }
func (m *fakeImage) Close() error       { m.closed = true; return nil }

func (m *fakeImage) Prepare(profile.Addr) {}

func (m *fakeImage) Refresh()                      { m.world.miss = nil }
func (m *fakeImage) Mapped(*perfevent.Mapped) bool { return false }
func (m *fakeImage) HasCode(*procfs.Map) bool      { return true }

func (m *fakeImage) StackAt(sp uint64) (uint64, uint64) { return sp &^ 0xfff, sp&^0xfff + 0x1000 }

func (m *fakeImage) ReadStack(p []byte, sp uint64) int {
	if m.world.memory != nil {
		m.world.memory(p, sp)
	}
	return min(len(p), 4096)
}

func (m *fakeImage) Unwind(s *source.Capture, dst []profile.Addr) ([]profile.Addr, unwind.End) {
	tid := int(s.PC) // a stop
	if s.Partial || s.SP>>20 != 0 {
		tid = int(s.SP >> 20)
	}
	t := m.world.threads[tid]
	var stack []uint64
	if i := s.PC - firstSeen; i < uint64(len(m.world.seen)) { // a tick's
		stack = m.world.seen[i]
		if s.Strayed = m.world.stray > 0 && i%m.world.stray == 0; s.Strayed {
			dst = append(dst, profile.Addr{PC: stack[0]}, profile.Addr{PC: 0x66, Kind: profile.Return})
			s.Beyond = 1
			return dst, unwind.Unreadable
		}
	} else {
		stack = t.stack
	}
	for i, pc := range stack {
		if m.world.miss[pc] {
			return dst, unwind.NotCode
		}
		kind := profile.Return
		if i == 0 {
			kind = profile.Exact
		}
		dst = append(dst, profile.Addr{PC: pc, Kind: kind})
		if s.Partial && t.hidden {
			return dst, unwind.NoRegister
		}
	}
	return dst, unwind.Whole
}

func (m *fakeImage) Resolve(a profile.Addr, dst []profile.Frame) ([]profile.Frame, profile.Mapping) {
	name := string(rune('a'+a.PC%26)) + string(rune('0'+m.number))
	return append(dst, profile.Frame{Func: name}), profile.Mapping{}
}

// run samples the world for some rounds of 10 ms.
func run(t *testing.T, w *fakeWorld, c *fakeClock, rounds int, each func(*Sample)) *Sampler {
	t.Helper()
	s := New([]*source.Process{w.source()}, &Options{
		Period: 10 * time.Millisecond, For: time.Duration(rounds) * 10 * time.Millisecond,
		Clock: c, Each: each,
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// sortedThreads returns the threads in a fixed order.
func (w *fakeWorld) sortedThreads() []*fakeThread {
	tids := w.Threads()
	slices.Sort(tids)
	threads := make([]*fakeThread, len(tids))
	for i, tid := range tids {
		threads[i] = w.threads[tid]
	}
	return threads
}

// setRegister sets a register by name, where the architecture has it.
func setRegister(r *ptrace.Regs, name string, v uint64) {
	if f := reflect.ValueOf(&r.Regs).Elem().FieldByName(name); f.IsValid() {
		f.SetUint(v)
	}
}

// load makes the first busy threads spin over a few stacks and wakes some of the
// others now and then.
func (w *fakeWorld) load(r *rand.Rand, busy int) func(from, to time.Duration) {
	threads := w.sortedThreads()
	var spinning, waiting [][]uint64
	for i := range uint64(10) {
		spinning = append(spinning, []uint64{0x20 + i, 0x30, 0x40})
		waiting = append(waiting, []uint64{0x10, 0x1000 + i})
	}
	return func(from, to time.Duration) {
		for i := range busy {
			t := threads[i]
			t.spin(spinning[r.IntN(10)]...)
			t.sched.Run += uint64(to - from)
		}
		for range 3 {
			t := threads[busy+r.IntN(len(threads)-busy)]
			t.sched.Run += 5000
			t.block(202, waiting[r.IntN(10)]...)
		}
	}
}
