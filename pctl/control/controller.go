package control

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ptools/internal/elfsym"
	"ptools/internal/guard"
	"ptools/internal/ptrace"
	"ptools/pctl/bkpt"
	"ptools/pctl/handle"
	"ptools/pctl/notify"
)

// Mode is what becomes of the target when it is let go.
type Mode uint8

const (
	// ModeRun lets it run on, or leaves it stopped if somebody else had stopped it.
	ModeRun Mode = iota
	// ModeKill ends it with SIGKILL, also when the program that controls it dies
	// (PTRACE_O_EXITKILL). While somebody else has it stopped it is left stopped instead.
	ModeKill
	// ModeStop leaves it stopped as by SIGSTOP, without another instruction executed.
	ModeStop
)

var modeNames = [...]string{"running", "killed", "stopped"}

// String returns the participle that follows "released, ".
func (m Mode) String() string { return modeNames[m] }

// Options of Attach and Start. The zero value of each field is the default.
type Options struct {
	// Stop are the rendezvous points. Each is announced once.
	Stop []notify.Point
	// Mode is what the kernel is told for the case that we die: ModeKill arms
	// PTRACE_O_EXITKILL. Release may still choose otherwise.
	Mode Mode
	// Linker follows the run-time linker from the start: Loaded and Unloaded events.
	// Breakpoints by symbol switch it on by themselves.
	Linker bool
	// KeepAwake keeps the machine's idle processors from sleeping while breakpoints are
	// hit often. See pctl.SessionOptions.
	KeepAwake bool
	// Trap is the means of breakpoints.
	Trap Trap
	// Files caches ELF files among controllers; nil for a cache of its own.
	Files *elfsym.Cache
	// Guard lifts our traps when we die; nil: nobody does. In ModeKill nobody needs to.
	Guard *guard.Guard
	// Bus receives the events; nil for a new one.
	Bus *notify.Bus
	// Trace records what happens; nil: nothing is recorded, unless the environment has PTOOLS_TRACE.
	Trace *Trace
	// OnThreadStart is called on the control goroutine while the creator is stopped
	// in its clone event, with its registers. nil: not called.
	OnThreadStart func(creator, child int, regs *ptrace.Regs)
}

// keptFiles is how many ELF files a controller without a cache of others keeps open.
const keptFiles = 32

// Errors of requests.
var (
	// ErrOnControl is returned to a handler or a Pause function that makes a request
	// which only another goroutine may make: it would wait for itself.
	ErrOnControl = errors.New("called on the control goroutine, which would wait for itself")
	// ErrReleased: the target has been let go.
	ErrReleased = errors.New("process has been released")
	// ErrEnded: the target is no more.
	ErrEnded = errors.New("process has ended")
	// ErrNotHeld: Continue without a rendezvous.
	ErrNotHeld = errors.New("process is not stopped at a rendezvous")
)

// Controller controls one process from a goroutine of its own, which is locked to an
// OS thread and makes every ptrace and wait call. All methods may be called from any
// goroutine; those that wait for the control goroutine return ErrOnControl when they
// are called on it.
type Controller struct {
	pid   int
	bus   *notify.Bus
	files *elfsym.Cache
	bell  *ptrace.Bell
	done  chan struct{}

	tid     atomic.Int64 // OS thread of the control goroutine
	waiting atomic.Bool  // the control goroutine is in Wait, or about to be
	gen     atomic.Uint64
	held    atomic.Uint32 // notify.Point at which the target is held
	stopped atomic.Uint32 // signal of the group stop that the target is in
	space   atomic.Pointer[handle.Space]
	tids    atomic.Pointer[[]int] // snapshot of the thread set, nil when it changed

	mu     sync.Mutex
	queue  []*request
	closed bool
	endErr error // why requests are refused, once closed
	roster map[int]struct{}

	lacking atomic.Pointer[error] // what the program of a created process lacked when it began
	class   elf.Class             // of the program that the target has executed last

	// The rest belongs to the control goroutine.
	strangers map[int]bool // processes that are known not to share the target's memory (survey)
	ground    ground

	opt           Options
	trace         *Trace // nil: off
	start         uint64 // of the target that was attached to, in ticks since boot
	own           bool   // a child of this program that it will want to wait for
	created       bool   // by us
	started       bool   // a created process has been through its first exec
	newbornSeized bool   // each thread of the target, and whoever is about to get a copy of its memory, is traced
	alone         bool   // so are the processes that share its memory, if any
	threads       map[int]*thread
	early         map[int]role // seen before their creator's event announced them
	changes       int          // how often the leader seems to have been replaced while it was seized
	stolen        []ptrace.Stop
	unread        int            // thread whose report has been looked at only (wait.go)
	holds         int            // reasons for everybody to stand still
	awaited       int            // held threads that have not stopped yet
	resumed       bool           // the last group stop is over, and no signal was delivered since that begins another
	stops         uint64         // group stops that were told
	points        notify.Points  // rendezvous still wanted
	seen          []*thread      // work space of Look
	here          []notify.Point // rendezvous due at this place
	ending        bool           // the target is gone, what was traced for its sake is let go
	parting       bool           // each thread is detached as soon as it stops
	left          bool           // a thread could not be detached
	asleep        int            // so many of those sleep uninterruptibly
	leaving       bool           // being left stopped, by a SIGSTOP of ours
	over          bool
	freed         notify.Event // that tells of the release, when nobody is traced any more
	lastEnd       ptrace.Stop  // of a thread of the target
	spin          spinner
	latency       cpuLatency
	alert         alert
	alarm         alarm

	mem        memory
	user       bkpt.Memory // the same as the target itself may use it
	watch      *guard.Watch
	table      *bkpt.Table
	setBacks   []ptrace.SetBack // those of the table when it had this version
	setBacksOf uint64
	backs      []ptrace.Back // threads that were set back and are still to be reported, in backsRoom
	backsRoom  [mostBacks]ptrace.Back
	lastBack   ptrace.Back // the one that was reported last
	reserved   bool        // the table has been given its scratch area, or there is none
	probes     probes
	killRisk   killRisk
	breaks     map[uint64][]*Break
	symbolic   []*SymbolBreak
	catches    []*Catch
	wantHold   bool // a handler has asked for a rendezvous
	wantPoint  bool // a rendezvous point was hit
	imageNew   bool // an exec has been seen
	linker     linker
	retired    []*handle.Space // of images before an exec
}

// memory is what the control goroutine needs of the target's address space.
type memory interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stale() bool // nothing is in it any more
}

// noMemory stands for memory that cannot be had: of a process that has no program yet,
// or is gone, or has executed what we may not read.
type noMemory struct{ err error }

func (m noMemory) ReadAt([]byte, int64) (int, error)  { return 0, m.err }
func (m noMemory) WriteAt([]byte, int64) (int, error) { return 0, m.err }
func (m noMemory) Close() error                       { return nil }
func (m noMemory) Stale() bool                        { return true }

// newController makes the goroutine and waits until start has succeeded or failed
// on it.
func newController(pid int, o *Options, start func(c *Controller) error) (*Controller, error) {
	if !ptrace.Supported {
		return nil, errors.ErrUnsupported
	}
	none := noMemory{syscall.ESRCH}
	c := &Controller{
		pid: pid, done: make(chan struct{}), threads: map[int]*thread{}, early: map[int]role{},
		roster: map[int]struct{}{}, breaks: map[uint64][]*Break{}, mem: none, user: none,
		table: bkpt.NewTable(none),
	}
	if o != nil {
		c.opt = *o
	}
	c.bus, c.files, c.points = c.opt.Bus, c.opt.Files, notify.PointsOf(c.opt.Stop...)
	if c.bus == nil {
		c.bus = notify.NewBus()
	}
	if c.files == nil {
		c.files = elfsym.NewCache(keptFiles)
	}
	if c.trace = c.opt.Trace; c.trace == nil {
		c.trace = traceFromEnv()
	}
	c.trace.begin(pid)
	if c.opt.Mode != ModeKill {
		c.watch = c.opt.Guard.Watch()
	}
	c.spin.init()
	c.probes.init(c)
	started := make(chan error, 1)
	go c.main(start, started, make(chan struct{}))
	if err := <-started; err != nil {
		<-c.done
		return nil, err
	}
	return c, nil
}

// main is the control goroutine. It ends when the target is let go or has ended;
// Release and newController wait for that. The OS thread is never unlocked, so it
// ends too, and the kernel lets go of whatever could not be stopped to be detached.
func (c *Controller) main(start func(*Controller) error, started chan<- error, found chan<- struct{}) {
	runtime.LockOSThread()
	if !fit() {
		// While this thread is locked, another goroutine gets another one.
		next := make(chan struct{})
		go c.main(start, started, next)
		<-next
		close(found)
		runtime.UnlockOSThread()
		return
	}
	close(found)
	ptrace.Prompt()
	defer c.end()
	defer c.latency.close()
	defer c.closeQueue(ErrReleased)
	c.tid.Store(int64(ptrace.ThreadID()))
	defer c.tid.Store(0) // another thread may get the number
	if err := start(c); err != nil {
		c.abort()
		started <- err
		return
	}
	started <- nil
	defer c.cleanup()
	c.loop()
}

// end tells that the control goroutine is done, when what it had is closed. Threads that
// were not detached are let go by the kernel when this OS thread exits: that is waited for,
// so that nobody who has seen Done finds them traced, and nothing delays it.
func (c *Controller) end() {
	if !c.left {
		c.close()
		close(c.done)
		return
	}
	exit := ptrace.ThreadExit()
	go func() {
		exit.Wait()
		c.publish(c.freed)
		c.close()
		close(c.done)
	}()
}

// fit reports whether the calling OS thread can be a tracer. The main thread of a Go
// program cannot: it does not end with a goroutine that is locked to it, and the
// tracees would stay ours. Nor can a thread that has forked children before, for
// os/exec perhaps: waiting would take their ends, and the stops of those that other
// threads of this program trace, from whoever waits for them.
func fit() bool {
	return ptrace.ThreadID() != ptrace.ProcessID() && !ptrace.HasChildren()
}

// cleanup runs when the control goroutine ends, also by a panic or a runtime.Goexit
// of a handler: then the traps leave the text and every thread is detached first. The
// panic goes on; whoever waits for the end of this control is told in any case.
func (c *Controller) cleanup() {
	if !c.over {
		c.letAllGo()
		c.free(ModeRun)
	}
	if !c.left {
		c.publish(c.freed)
	}
}

// abort lets go of what a failed start has seized.
func (c *Controller) abort() {
	if len(c.threads) > 0 {
		c.letAllGo()
	}
	if s := c.Space(); s != nil {
		c.retired = append(c.retired, s)
	}
}

// close closes what control had, when it is over.
func (c *Controller) close() {
	c.trace.end()
	c.closeProbes()
	c.closeMemory()
	c.watch.Close()
	for _, s := range c.retired {
		s.Close()
	}
}

// PID returns the target's number.
func (c *Controller) PID() int { return c.pid }

// Bus returns the bus on which events are published.
func (c *Controller) Bus() *notify.Bus { return c.bus }

// Done is closed when the control goroutine has ended: the target has been let go,
// has ended, or was lost.
func (c *Controller) Done() <-chan struct{} { return c.done }

// Held returns the rendezvous point at which the target is held.
func (c *Controller) Held() (notify.Point, bool) {
	p := notify.Point(c.held.Load())
	return p, p != 0
}

// GroupStop returns the signal by which somebody else has stopped the target, or 0.
func (c *Controller) GroupStop() syscall.Signal { return syscall.Signal(c.stopped.Load()) }

// Lacked returns what the program of a created process lacked when it began, as Event.Err of Created, or nil.
func (c *Controller) Lacked() error {
	if err := c.lacking.Load(); err != nil {
		return *err
	}
	return nil
}

// Space returns the map of the target's present address space. An exec replaces it,
// and the old one is closed when the control goroutine ends. The last one stays open,
// for stacks that were taken before: whoever has the Controller closes it.
func (c *Controller) Space() *handle.Space { return c.space.Load() }

// publish stamps an event and hands it to the bus, which never blocks.
func (c *Controller) publish(e notify.Event) {
	if e.Kind != 0 {
		c.trace.about(c.pid, deedEvent, uint64(e.Kind), nil)
	}
	if c.bus.Wants(e.Kind) {
		e.Time, e.PID = time.Now(), c.pid
		c.bus.Publish(e)
	}
}

// Err returns why requests are refused, or nil while the target is controlled.
func (c *Controller) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endErr
}

// Wait blocks until the control goroutine has ended or ctx is done.
func (c *Controller) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Controller) String() string { return fmt.Sprintf("controller of %d", c.pid) }
