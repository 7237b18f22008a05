package goroutines

import (
	"errors"
	"strconv"

	"ptools/internal/unwind"
)

// A Status is what a goroutine does, by the numbers of Go's runtime.
type Status uint8

const (
	Idle     Status = 0
	Runnable Status = 1 // waits for a processor
	Running  Status = 2
	Syscall  Status = 3 // in a system call or in C code
	Waiting  Status = 4
	dead     Status = 6
	// CopyStack: its stack grows.
	CopyStack Status = 8
	Preempted Status = 9
	Leaked    Status = 10 // it waits for something that can never come
	deadExtra Status = 11
	// Changing: it never stood still while it was read. It is none of the runtime's.
	Changing Status = 255
)

// scanning is set in a status while the garbage collector looks at the stack.
const scanning = 0x1000

// A G is a goroutine.
type G struct {
	ID     uint64
	Status Status
	Reason string // why it waits, in the runtime's words; empty for a version of Go whose words are not known
	// Since is when it began to wait, in nanoseconds of the target's monotonic clock, or when the garbage collector first saw it
	// waiting: the runtime notes no other moment. 0: no collection since.
	Since int64
	// Until is when its sleep ends, by the same clock; 0: it does not sleep, or that is not known.
	Until int64
	// Stack has its program counters; nil if they are not known. Goroutines with the same ones share it.
	Stack     *Stack
	Creator   uint64 // program counter behind the go statement
	Parent    uint64 // goroutine with the go statement; 0: not known
	Start     uint64 // its first function
	Low, High uint64 // bounds of its stack
	Thread    int    // that runs it, or that it is in a system call on, in the target's numbers
	Locked    int    // the thread that it is locked to
	Bubble    uint64 // number of its bubble of testing/synctest; 0: none, or before Go 1.25
	// Channels are the addresses of the channels that it waits for.
	Channels []uint64
	// Semaphore is the address of the semaphore of a mutex or the like, or of the list of a condition variable, that it waits for.
	Semaphore uint64
	Poll      Poll
	Line      *Line   // its ancestors; nil: the program keeps none
	Labels    []Label // of runtime/pprof
}

// Poll is a descriptor that a goroutine waits for.
type Poll struct {
	Known bool
	FD    int
	Write bool // it waits to write
}

// A Label is one of runtime/pprof.
type Label struct{ Key, Value string }

// A Stack is the frames of goroutines, innermost first.
type Stack struct {
	Frames []unwind.Frame // without stack pointers
	End    unwind.End
}

// words of Go's traces for a status.
var words = map[Status]string{Idle: "idle", Runnable: "runnable", Running: "running", Syscall: "syscall", Waiting: "waiting", CopyStack: "copystack",
	Preempted: "preempted", Leaked: "leaked", Changing: "changing"}

// durable are reasons of goroutines in bubbles of testing/synctest for which time goes on there. Others say so in their own words.
var durable = map[string]bool{"chan receive (nil chan)": true, "chan send (nil chan)": true, "select (no cases)": true, "sleep": true,
	"sync.Cond.Wait": true, "coroutine": true, "synctest.Run": true, "synctest.Wait": true}

// State is the status or, of a goroutine that waits, the reason.
func (g *G) State() string {
	state := words[g.Status]
	if g.Reason != "" {
		state = g.Reason
	}
	if g.Status == Leaked && g.Reason != "" {
		state += " (leaked)"
	}
	if g.Bubble != 0 && g.Status == Waiting && durable[g.Reason] {
		state += " (durable)"
	}
	if state == "" {
		state = "status " + strconv.Itoa(int(g.Status))
	}
	return state
}

// Cut returns why a stack is not whole, nil if it is.
func Cut(s *Stack) error {
	if s.End == unwind.Whole {
		return nil
	}
	return errors.New(s.End.String())
}

// A raw is a g as it was read.
type raw struct {
	l *layout
	b []byte
}

func (r raw) word(off uint64) uint64 { return le.Uint64(r.b[off:]) }

func (r raw) status() uint32 { return le.Uint32(r.b[r.l.g.status:]) }

// live reports whether there is a goroutine.
func (r raw) live() bool {
	switch s := Status(r.status() &^ scanning); s {
	case Idle, 5, dead, deadExtra:
		return false
	}
	return true
}

// place returns where a goroutine that does not run continues.
func (r raw) place() (pc, sp, bp uint64) {
	o := &r.l.g
	if Status(r.status()&^scanning) == Syscall && r.word(o.syscallsp) != 0 {
		if o.syscallbp != 0 {
			bp = r.word(o.syscallbp)
		}
		return r.word(o.syscallpc), r.word(o.syscallsp), bp
	}
	return r.word(o.sched + 8), r.word(o.sched), r.word(o.sched + r.l.bp)
}

// bounds of its stack.
func (r raw) bounds() (lo, hi uint64) { return r.word(0), r.word(8) }

// maxStack is larger than Go lets a stack become (a gigabyte).
const maxStack = 1 << 31

// bubble is the address of its bubble of testing/synctest, 0 if it is in none.
func (r raw) bubble() uint64 {
	if r.l.g.bubble == 0 {
		return 0
	}
	return r.word(r.l.g.bubble)
}

// sleeps reports whether the goroutine is in time.Sleep, by the clock of the machine: in a bubble another one counts.
func (r raw) sleeps() bool {
	if r.bubble() != 0 {
		return false
	}
	n := int(r.b[r.l.g.waitreason])
	return Status(r.status()&^scanning) == Waiting && n < len(r.l.reasons) && r.l.reasons[n] == "sleep"
}

// possible reports whether the g at an address may be one: it refers to itself, and it stands on its stack.
func (r raw) possible(addr uint64) bool {
	status := r.status()
	if status&^scanning > uint32(deadExtra) {
		return false
	}
	if !r.live() {
		return true
	}
	lo, hi := r.bounds()
	if id := r.word(r.l.g.goid); id == 0 || id >= 1<<62 || lo >= hi || hi-lo > maxStack || r.word(r.l.g.sched+16) != addr {
		return false
	}
	if _, sp, _ := r.place(); Status(status) == Waiting && (sp < lo || sp > hi) {
		return false
	}
	return r.l.reasons == nil || int(r.b[r.l.g.waitreason]) < len(r.l.reasons)
}

// decode sets what the g itself has.
func (r raw) decode(g *G) {
	o := &r.l.g
	*g = G{ID: r.word(o.goid), Status: Status(r.status() &^ scanning), Creator: r.word(o.gopc), Start: r.word(o.startpc)}
	g.Low, g.High = r.bounds()
	if g.ID == 1 {
		g.Creator = 0 // the runtime's start
	}
	if o.parent != 0 {
		g.Parent = r.word(o.parent)
	}
	switch g.Status {
	case Waiting, Leaked:
		if n := int(r.b[o.waitreason]); n < len(r.l.reasons) {
			g.Reason = r.l.reasons[n]
		}
		if g.Since = int64(r.word(o.waitsince)); o.until != 0 && r.sleeps() {
			g.Until = int64(r.word(o.until))
		}
	case Syscall:
		g.Since = int64(r.word(o.waitsince))
	}
}
