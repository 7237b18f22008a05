package control

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"ptools/internal/ptrace"
)

// traceEnv is the environment variable that has each controlled process traced on standard error.
const traceEnv = "PTOOLS_TRACE"

// keptEntries is how many entries a Trace keeps unless NewTrace is told otherwise: some seconds
// of a busy process, in 10 MB.
const keptEntries = 1 << 16

// Trace records what the kernel said about the threads of one controlled process and what was done
// to them, in a ring: the last entries are kept. Recording takes a fraction of a microsecond and makes
// no system call; the text is made when it is asked for, so a race stays where it was. Its methods may be
// called from any goroutine, also while the control goroutine is stuck. A nil Trace records nothing.
type Trace struct {
	out  io.Writer
	size int

	mu    sync.Mutex
	start time.Time
	pid   int
	ring  []entry
	next  int             // index of the oldest entry, once the ring is full
	lost  int             // entries that were overwritten
	last  map[int]machine // of the threads on the books, as last recorded
}

// NewTrace returns a Trace that keeps n entries; zero: some ten thousand. Where out is not nil
// the text is written to it when control of the process ends, by one Write.
func NewTrace(n int, out io.Writer) *Trace {
	if n <= 0 {
		n = keptEntries
	}
	return &Trace{out: out, size: n, start: time.Now(), last: map[int]machine{}}
}

// traceFromEnv returns the Trace that the environment asks for, or nil.
func traceFromEnv() *Trace {
	if os.Getenv(traceEnv) == "" {
		return nil
	}
	return NewTrace(0, os.Stderr)
}

// deed is what was done or, with deedStop, what the kernel said.
type deed uint8

const (
	deedStop      deed = iota // a wait status
	deedEvent                 // told to clients
	deedSeize                 // PTRACE_SEIZE
	deedAdd                   // put on the books, with its role
	deedExec                  // stands in the stop of an exec that another record has reported
	deedDrop                  // taken off the books
	deedHold                  // has to stand
	deedUnhold                // need not any more
	deedStand                 // has stopped, or is waited for no more
	deedExpect                // is waited for again
	deedVfork                 // waits in vfork(2), or is about to
	deedMove                  // has another position
	deedRefused               // what was refused, because it cannot be
	deedPhase                 // the process has another phase
	deedInterrupt             // PTRACE_INTERRUPT
	deedCont                  // PTRACE_CONT with a signal
	deedListen                // PTRACE_LISTEN
	deedPass                  // PTRACE_CONT to a signal that is due
	deedStep                  // PTRACE_SINGLESTEP
	deedDetach                // PTRACE_DETACH with a signal
	deedAbandon               // left to the kernel, which detaches it when the tracer's thread ends
	deedPark                  // cannot stop now: not waited for
	deedTake                  // its signal is ours
	deedGive                  // gets a signal that was ours
	deedSetRegs               // PTRACE_SETREGS, with the program counter
	deedPlant                 // a breakpoint was set at an address
	deedLift                  // it was removed
	deedArm                   // all traps go into the text
	deedDisarm                // all traps leave the text
)

var deedNames = [...]string{
	"stop", "event", "seize", "add", "exec", "drop", "hold", "unhold", "stand", "expect", "vfork", "move", "refused", "phase", "interrupt", "cont", "listen", "pass", "step",
	"detach", "abandon", "park", "take", "give", "setregs", "plant", "lift", "arm", "disarm",
}

func (d deed) String() string { return deedNames[d] }

// entry is one line. The states are those of the thread's machine, nil where it has none: it is not
// on the books, or the entry is about the process.
type entry struct {
	when          time.Duration
	tid           int
	deed          deed
	arg           uint64 // signal, role, address or program counter
	name          string // kind of event
	stop          ptrace.Stop
	err           error
	before, after *machine
}

// heard records a wait status, when the machine has taken it. t is nil for a thread that is not on the books.
func (r *Trace) heard(t *thread, s ptrace.Stop) {
	if r != nil {
		r.add(t, entry{tid: s.TID, stop: s})
	}
}

// did records what was done to a thread, when its machine has changed.
func (r *Trace) did(t *thread, d deed, arg uint64, err error) {
	if r != nil {
		r.add(t, entry{tid: t.tid, deed: d, arg: arg, err: err})
	}
}

// about records what is about the process, or a thread that is not on the books.
func (r *Trace) about(tid int, d deed, arg uint64, err error) {
	if r != nil {
		r.add(nil, entry{tid: tid, deed: d, arg: arg, err: err})
	}
}

// told records an event that is published.
func (r *Trace) told(pid int, kind string) { r.add(nil, entry{tid: pid, deed: deedEvent, name: kind}) }

func (r *Trace) add(t *thread, e entry) {
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
func (r *Trace) states(t *thread, e *entry) {
	was, ok := r.last[t.tid]
	switch {
	case e.deed == deedAdd:
	case ok:
		e.before = &was
	default:
		return // off the books already
	}
	if e.deed == deedDrop || e.deed == deedDetach {
		delete(r.last, t.tid)
		return
	}
	m := t.m
	e.after = &m
	r.last[t.tid] = m
}

// begin is called when the process is known.
func (r *Trace) begin(pid int) {
	if r != nil {
		r.mu.Lock()
		r.pid = pid
		r.mu.Unlock()
	}
}

// end is called when control has ended.
func (r *Trace) end() {
	if r != nil && r.out != nil {
		r.WriteTo(r.out)
	}
}

// WriteTo implements io.WriterTo: a line that names the process, then one for each entry, the oldest first.
//
//	SECONDS TID WHAT [STATE | BEFORE -> AFTER]
//
// SECONDS are since the Trace was made. A wait status is a "stop" with its kind, or an end. The states are
// those of the state machine. testdata/*.trace are such lines, which a test replays.
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

func stateOr(m *machine, none string) string {
	if m == nil {
		return none
	}
	return m.String()
}

// what is the entry in words.
func (e *entry) what() string {
	switch e.deed {
	case deedStop:
		return stopText(e.stop)
	case deedEvent:
		return "event " + e.name
	case deedAdd:
		return "add " + role(e.arg).String()
	case deedMove:
		return "move " + position(e.arg).String()
	case deedPhase:
		return "phase " + phase(e.arg).String()
	case deedRefused:
		return "refused " + deed(e.arg).String()
	case deedSetRegs:
		return fmt.Sprintf("setregs pc=%#x", e.arg)
	case deedPlant, deedLift:
		return fmt.Sprintf("%v %#x", e.deed, e.arg)
	case deedCont, deedPass, deedDetach, deedTake, deedGive:
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
