package tracee

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"ptools/internal/ptrace"
)

// traceEnv is the environment variable that makes TraceFromEnv return a Trace to standard error.
const traceEnv = "PTOOLS_TRACE"

// keptEntries is how many entries a Trace keeps by default: some seconds of a busy process, in 10 MB.
const keptEntries = 1 << 16

// Trace records what the kernel said about the threads of one controlled process, and what was done
// to them. It is a ring: the last entries are kept. Recording takes a fraction of a microsecond and makes
// no system call. The text is made only when it is wanted, so that recording does not shift a race. The methods
// may be called from any goroutine, also while the control goroutine is stuck. A nil Trace records nothing.
type Trace struct {
	out  io.Writer
	size int

	mu    sync.Mutex
	start time.Time
	pid   int
	ring  []entry
	next  int             // index of the oldest entry, once the ring is full
	lost  int             // entries that were overwritten
	last  map[int]Machine // the machines of the threads with a record, as last seen
}

// NewTrace returns a Trace that keeps n entries; zero: some ten thousand. Unless out is nil,
// the text is written to it by one Write when control of the process ends.
func NewTrace(n int, out io.Writer) *Trace {
	if n <= 0 {
		n = keptEntries
	}
	return &Trace{out: out, size: n, start: time.Now(), last: map[int]Machine{}}
}

// TraceFromEnv returns the Trace that the environment asks for, or nil.
func TraceFromEnv() *Trace {
	if os.Getenv(traceEnv) == "" {
		return nil
	}
	return NewTrace(0, os.Stderr)
}

// Deed is what was done or, with DeedStop, what the kernel said.
type Deed uint8

const (
	DeedStop      Deed = iota // a wait status
	DeedEvent                 // an event that clients were notified of
	DeedSeize                 // PTRACE_SEIZE
	DeedAdd                   // its record was made, with its role
	DeedExec                  // is in the stop of an exec that was reported for another record
	DeedDrop                  // its record was removed
	DeedHold                  // has to stay stopped
	DeedUnhold                // need not stay stopped any more
	DeedStand                 // has stopped, or is not waited for any more
	DeedExpect                // is waited for again
	DeedVfork                 // waits in vfork(2), or is about to
	DeedMove                  // has another position
	DeedRefused               // a deed that was refused, because it is impossible
	DeedPhase                 // the process has another phase
	DeedInterrupt             // PTRACE_INTERRUPT
	DeedSpare                 // an interrupt that is left out, because a signal has killed it
	DeedCont                  // PTRACE_CONT with a signal
	DeedListen                // PTRACE_LISTEN
	DeedPass                  // PTRACE_CONT to a signal that is due
	DeedStep                  // PTRACE_SINGLESTEP
	DeedDetach                // PTRACE_DETACH with a signal
	DeedAbandon               // left to the kernel, which detaches it when the tracer's thread ends
	DeedPark                  // cannot stop now: not waited for
	DeedTake                  // its signal is suppressed
	DeedGive                  // receives a signal that was suppressed
	DeedSetRegs               // PTRACE_SETREGS, with the program counter
	DeedPlant                 // a breakpoint was set at an address
	DeedLift                  // it was removed
	DeedArm                   // all traps go into the text
	DeedDisarm                // all traps leave the text
)

var deedNames = [...]string{
	"stop", "event", "seize", "add", "exec", "drop", "hold", "unhold", "stand", "expect", "vfork", "move", "refused", "phase", "interrupt", "spare", "cont", "listen", "pass", "step",
	"detach", "abandon", "park", "take", "give", "setregs", "plant", "lift", "arm", "disarm",
}

func (d Deed) String() string { return deedNames[d] }

// entry is one line. before and after are the states of the thread's machine. They are nil where there is none: the
// thread has no record, or the entry is about the process.
type entry struct {
	when          time.Duration
	tid           int
	deed          Deed
	arg           uint64 // signal, role, address or program counter
	name          string // kind of event
	stop          ptrace.Stop
	err           error
	before, after *Machine
}

// waited records a wait status. It is called when the machine has changed. t is nil for a thread without a record.
func (r *Trace) waited(t *Thread, s ptrace.Stop) {
	if r != nil {
		r.add(t, entry{tid: s.TID, stop: s})
	}
}

// Did records what was done to a thread. It is called when the machine has changed.
func (r *Trace) Did(t *Thread, d Deed, arg uint64, err error) {
	if r != nil {
		r.add(t, entry{tid: t.TID, deed: d, arg: arg, err: err})
	}
}

// About records what was done to the process, or to a thread without a record.
func (r *Trace) About(tid int, d Deed, arg uint64, err error) {
	if r != nil {
		r.add(nil, entry{tid: tid, deed: d, arg: arg, err: err})
	}
}

// Told records an event that is published.
func (r *Trace) Told(pid int, kind string) { r.add(nil, entry{tid: pid, deed: DeedEvent, name: kind}) }

func (r *Trace) add(t *Thread, e entry) {
	e.when = time.Since(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	if t != nil {
		r.states(t, &e)
	}
	if len(r.ring) < r.size {
		r.ring = append(r.ring, e)
		return
	}
	r.ring[r.next] = e
	r.next = (r.next + 1) % r.size
	r.lost++
}

// states fills in the states before and after an entry.
func (r *Trace) states(t *Thread, e *entry) {
	was, ok := r.last[t.TID]
	switch {
	case e.deed == DeedAdd:
	case ok:
		e.before = &was
	default:
		return // its record was removed already
	}
	if e.deed == DeedDrop || e.deed == DeedDetach {
		delete(r.last, t.TID)
		return
	}
	m := t.M
	e.after = &m
	r.last[t.TID] = m
}

// Begin sets the process of the trace. It is called when the process is known.
func (r *Trace) Begin(pid int) {
	if r != nil {
		r.mu.Lock()
		r.pid = pid
		r.mu.Unlock()
	}
}

// End writes the text, where an out was given. It is called when control has ended.
func (r *Trace) End() {
	if r != nil && r.out != nil {
		r.WriteTo(r.out)
	}
}

// WriteTo implements io.WriterTo. It writes a line that names the process, then one line for each entry, the oldest first.
//
//	SECONDS TID WHAT [STATE | BEFORE -> AFTER]
//
// SECONDS are since the Trace was made. A wait status is a "stop" with its kind, or an end. The states are
// those of the state machine. The files testdata/*.trace have such lines, and a test replays them.
func (r *Trace) WriteTo(w io.Writer) (int64, error) {
	var b bytes.Buffer
	r.mu.Lock()
	fmt.Fprintf(&b, "# trace of %d, %d entries before it lost\n", r.pid, r.lost)
	for i := range r.ring {
		fmt.Fprintln(&b, r.ring[(r.next+i)%len(r.ring)].String())
	}
	r.mu.Unlock()
	return b.WriteTo(w)
}

func (e *entry) String() string {
	what := e.what()
	if e.err != nil {
		what += fmt.Sprintf(" (%v)", e.err)
	}
	s := fmt.Sprintf("%11.6f %7d %s", e.when.Seconds(), e.tid, what)
	if e.before == nil && e.after == nil {
		return s
	}
	before, after := stateOr(e.before, "new"), stateOr(e.after, "gone")
	if before != after {
		after = before + " -> " + after
	}
	return fmt.Sprintf("%-50s  %s", s, after)
}

func stateOr(m *Machine, none string) string {
	if m == nil {
		return none
	}
	return m.String()
}

// what returns the deed of an entry in words.
func (e *entry) what() string {
	switch e.deed {
	case DeedStop:
		return stopText(e.stop)
	case DeedEvent:
		return "event " + e.name
	case DeedAdd:
		return "add " + Role(e.arg).String()
	case DeedMove:
		return "move " + Position(e.arg).String()
	case DeedPhase:
		return "phase " + Phase(e.arg).String()
	case DeedRefused:
		return "refused " + Deed(e.arg).String()
	case DeedSetRegs:
		return fmt.Sprintf("setregs pc=%#x", e.arg)
	case DeedPlant, DeedLift:
		return fmt.Sprintf("%v %#x", e.deed, e.arg)
	case DeedCont, DeedPass, DeedDetach, DeedTake, DeedGive:
		if e.arg != 0 {
			return fmt.Sprintf("%v %d", e.deed, e.arg)
		}
	}
	return e.deed.String()
}

// stopNames are the kinds of stop in the words of scenarios.
var stopNames = map[ptrace.Kind]string{
	ptrace.KindClone: "clone", ptrace.KindFork: "fork", ptrace.KindVfork: "vfork", ptrace.KindVforkDone: "vfork-done",
	ptrace.KindExec: "exec", ptrace.KindEventStop: "event", ptrace.KindGroupStop: "group", ptrace.KindSignal: "signal",
}

func stopText(s ptrace.Stop) string {
	switch s.Kind {
	case ptrace.KindExited:
		return fmt.Sprintf("exited %d", s.Code)
	case ptrace.KindKilled:
		return fmt.Sprintf("killed %d", int(s.Signal))
	}
	name, ok := stopNames[s.Kind]
	if !ok {
		name = s.Kind.String()
	}
	if s.Kind == ptrace.KindSignal || s.Kind == ptrace.KindGroupStop {
		name += fmt.Sprintf(" %d", int(s.Signal))
	}
	if s.Back {
		name += " back"
	}
	return "stop " + name
}
