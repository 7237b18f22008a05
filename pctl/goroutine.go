package pctl

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"ptools/internal/goroutines"
	"ptools/internal/procfs"
	"ptools/pctl/handle"
)

// ErrNoGo: the process has no Go runtime.
var ErrNoGo = errors.New("process runs no Go program")

// ErrGoVersion: the process runs a Go program of a version that is not known.
var ErrGoVersion = goroutines.ErrVersion

// A GoLabel is a label of runtime/pprof.
type GoLabel struct{ Key, Value string }

// Goroutine is a goroutine of a Go program, as it was read. Any goroutine may use it, at any time.
type Goroutine struct {
	ID uint64
	// State is what it does, in the words of Go's own traces: "running", "runnable", "syscall", and for one that waits the
	// reason, as "chan receive" or "sync.Mutex.Lock". It is "changing" if it never stood still while it was read.
	State string
	// Waited is for how long it has waited at least: since the first garbage collection that saw it waiting, the only moment
	// that Go's runtime notes. 0: it does not wait, or there was no collection since.
	Waited time.Duration
	// Left is how long its sleep will last; 0: it does not sleep, or is about to be woken.
	Left    time.Duration
	Creator uint64 // program counter behind the go statement; 0: none
	Parent  uint64 // the goroutine with the go statement, before Go 1.21 and for the first one 0
	Start   uint64 // address of its first function
	Thread  int    // that runs it, or that it makes a system call or runs C code on; 0: none, or not known
	Locked  int    // thread that it is locked to; 0: none
	// Channels are the addresses of the channels that it waits for.
	Channels []uint64
	Lock     GoLock
	Poll     GoPoll
	Labels   []GoLabel // none before Go 1.24
	System   bool      // it is the runtime's own
	// Runtime is the path of the program or library whose Go runtime it belongs to, if the process has several runtimes: then numbers
	// are those of each by itself. Otherwise it is empty.
	Runtime string
	// Bubble is the number of its bubble of testing/synctest; 0: none, or before Go 1.25. How long it sleeps there is not told: another clock counts.
	Bubble uint64
	stack  *goStack
	line   *goroutines.Line
	space  *handle.Space
}

// GoLock is a lock of package sync that a goroutine waits for. Who holds it is not known: Go's locks do not tell.
type GoLock struct {
	Kind string // "mutex", "read-write mutex", "wait group", "condition variable" or, where the runtime does not tell, "semaphore"; empty: none
	Addr uint64 // of the semaphore, or of the variable of the type of package sync
}

// GoPoll is a descriptor that a goroutine waits for.
type GoPoll struct {
	Known bool
	FD    int
	Write bool // it waits to write to it
}

// goLocks are the kinds of lock by the reasons of goroutines that wait, and where in its variable is what they wait at. Before
// Go 1.20 they wait for semaphores, and for that of a wait group before Go 1.24.
var goLocks = map[string]struct {
	kind string
	off  uint64
}{
	"sync.Mutex.Lock": {"mutex", 4}, "sync.RWMutex.RLock": {"read-write mutex", 12}, "sync.RWMutex.Lock": {"read-write mutex", 8},
	"sync.WaitGroup.Wait": {"wait group", 8}, "sync.Cond.Wait": {"condition variable", 16}, "semacquire": {"semaphore", 0},
}

// Variable returns the variable that a lock lies in, and where in it. It is empty if the lock lies on a heap or a stack, or the
// program has no symbols.
func (g *Goroutine) Variable() (name string, offset uint64) {
	if g.Lock.Kind == "" {
		return "", 0
	}
	at := placeOf(g.space, g.Lock.Addr)
	if at.symbol == "" {
		return "", 0
	}
	return at.symbol, at.offset
}

// goStack is the stack of any number of goroutines.
type goStack struct {
	of *goroutines.Stack

	mu     sync.Mutex // of frames
	frames []Frame
}

// errRuns is why the stack of a goroutine is not known.
var errRuns = errors.New("it is in registers and memory that change")

// Stack returns the goroutine's stack, innermost frame first, with source lines and inlined functions. A goroutine that runs,
// or is changing, has none; the error satisfies ErrCut. The caller must not change the slice.
func (g *Goroutine) Stack() ([]Frame, error) {
	if g.stack == nil {
		return nil, fmt.Errorf("%w: %w", ErrCut, errRuns)
	}
	s := g.stack
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frames == nil {
		var names []handle.Frame
		for _, f := range s.of.Frames {
			how := handle.Lines
			if f.Return {
				how |= handle.Return
			}
			if f.Signal {
				how |= handle.Trampoline
			}
			names = g.space.Symbolize(f.PC, how, names)
		}
		s.frames = framesOf(names)
	}
	if err := goroutines.Cut(s.of); err != nil {
		return s.frames, fmt.Errorf("%w: %w", ErrCut, err)
	}
	return s.frames, nil
}

// CreatedAt returns the go statement that made the goroutine: its function, and where it is. Functions that are inlined there come
// before it. It is empty for the first goroutine.
func (g *Goroutine) CreatedAt() []Frame {
	return g.creatorOf(g.ID, g.Creator)
}

// Begins returns the goroutine's first function.
func (g *Goroutine) Begins() []Frame { return framesOf(g.space.Symbolize(g.Start, handle.Lines, nil)) }

// Goroutines yields the goroutines of a Go program, in the order in which the runtime keeps them. They are read from the program's
// memory while it runs: nothing is stopped, and they are not all of one moment. A stack is never a mixture of
// two moments. Snapshot.Goroutines has all of one moment. What the runtime's list has and cannot be read is reported at the end, in one error. The error is
// ErrNoGo for another program, and ErrGoVersion for one of an unknown version. It ends the sequence, as each error does.
func (p *Process) Goroutines(ctx context.Context) iter.Seq2[*Goroutine, error] {
	return func(yield func(*Goroutine, error) bool) {
		more, err := readGoroutines(ctx, p, nil, yield)
		if more && err != nil {
			yield(nil, p.fail("goroutines", err))
		}
	}
}

// readGoroutines reports whether the caller wants more. running returns the stack of a goroutine that a thread runs, nil if it is not
// known; so does a nil function.
func readGoroutines(ctx context.Context, p *Process, running func(tid int, g *goroutines.G) *goroutines.Stack, yield func(*Goroutine, error) bool) (more bool, err error) {
	if err := p.open("goroutines"); err != nil {
		return true, err
	}
	m, err := p.h.Memory()
	if err != nil {
		return true, err
	}
	space := p.space()
	runtimes, lack := p.golang.Find(space, m)
	switch {
	case errors.Is(lack, goroutines.ErrNone):
		return true, ErrNoGo
	case len(runtimes) == 0:
		return true, lack
	}
	list := &goList{space: space, now: procfs.MonotonicOf(p.PID()), inside: innerNumbers(p.PID()),
		stacks: make(map[*goroutines.Stack]*goStack), names: make(map[uint64]string), running: running}
	unread := 0
	more = true
	for _, r := range runtimes {
		if len(runtimes) > 1 || lack != nil {
			list.runtime = r.Path
		}
		reader := r.NewReader(m, space)
		err = reader.Read(ctx, func(g *goroutines.G) bool {
			more = yield(list.goroutine(g), nil)
			return more
		})
		if unread += reader.Unread; err != nil || !more {
			return more, err
		}
	}
	if unread > 0 {
		lack = errors.Join(lack, fmt.Errorf("%d goroutines could not be read", unread))
	}
	return true, lack
}

// goList makes the Goroutines of one reading.
type goList struct {
	space   *handle.Space
	now     time.Duration // in the program's clock
	inside  map[int]int   // our numbers of its threads; nil: they are the same
	stacks  map[*goroutines.Stack]*goStack
	runtime string                                           // of Goroutine.Runtime
	names   map[uint64]string                                // of functions that goroutines begin with
	running func(tid int, g *goroutines.G) *goroutines.Stack // of a moment; nil: they have no stack
}

func (l *goList) goroutine(g *goroutines.G) *Goroutine {
	own := &Goroutine{ID: g.ID, State: g.State(), Creator: g.Creator, Parent: g.Parent, Start: g.Start,
		Thread: l.thread(g.Thread), Locked: l.thread(g.Locked), Bubble: g.Bubble, space: l.space, System: g.System(l.name), Runtime: l.runtime}
	if since := time.Duration(g.Since); since > 0 && since < l.now {
		own.Waited = l.now - since
	}
	if until := time.Duration(g.Until); until > l.now {
		own.Left = until - l.now
	}
	own.Channels, own.Poll, own.line = g.Channels, GoPoll(g.Poll), g.Line
	if kind, ok := goLocks[strings.TrimSuffix(own.State, " (durable)")]; ok && g.Semaphore > kind.off {
		own.Lock = GoLock{kind.kind, g.Semaphore - kind.off}
	}
	for _, label := range g.Labels {
		own.Labels = append(own.Labels, GoLabel(label))
	}
	if g.Status == goroutines.Running && l.running != nil {
		g.Stack = l.running(own.Thread, g)
	}
	if g.Stack != nil {
		s := l.stacks[g.Stack]
		if s == nil {
			s = &goStack{of: g.Stack}
			l.stacks[g.Stack] = s
		}
		own.stack = s
	}
	return own
}

func (l *goList) thread(tid int) int {
	if l.inside == nil {
		return tid
	}
	return l.inside[tid]
}

// name returns the name of the function with an instruction.
func (l *goList) name(pc uint64) string {
	name, ok := l.names[pc]
	if !ok {
		name = l.space.Symbolize(pc, 0, nil)[0].Func
		l.names[pc] = name
	}
	return name
}
