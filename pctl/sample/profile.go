package sample

import (
	"io"
	"time"

	pprof "github.com/google/pprof/profile"

	"ptools/internal/profile"
)

// Profile is what was sampled of a process. Its methods may be called from any goroutine, one at a time.
type Profile struct {
	p    *profile.Profile
	cost string
}

// Values is what is counted for a stack or a function.
type Values struct {
	Samples int64
	CPU     time.Duration // on a processor
	Wall    time.Duration // summed over all threads: two threads that wait for one second make two seconds
}

// Function is what was counted for one function.
type Function struct {
	Name   string // demangled; "[unknown]" without a name, "[futex]" for a system call whose caller is not known
	Object string // path of the file that holds the code; empty for code in no file
	Call   string // in brackets, the system call that the function was in; empty: none, or Name has it
	Self   Values // while it was the innermost function
	Total  Values // while it was on the stack
}

// Process is one process of a profile that was taken with Options.Follow.
type Process struct {
	PID, PPID int
	Command   string        // the last name of its first thread
	CPU       time.Duration // of all its threads, as the kernel counts it
	Wall      time.Duration // how long it lived while it was sampled
}

// Command is the sum over the processes with one name.
type Command struct {
	Name      string
	Processes int64
	CPU, Wall time.Duration
}

// Processes returns the processes of a profile that was taken with Options.Follow. They are in the order of their births,
// as far as these were seen. There are at most 65,536, and one without a number for all further ones.
func (p *Profile) Processes() []Process {
	list := make([]Process, len(p.p.Processes()))
	for i, q := range p.p.Processes() {
		list[i] = Process(q)
	}
	return list
}

// Commands returns the sums by command of a profile that was taken with Options.Follow, those with most processor
// time first.
func (p *Profile) Commands() []Command {
	commands := p.p.Commands()
	list := make([]Command, len(commands))
	for i, c := range commands {
		list[i] = Command(c)
	}
	return list
}

// Contention returns a profile of the time that threads waited for locks, by the stacks of the threads that held the
// locks. It returns nil without Options.Blame. Values.Samples counts the waits that were seen, and Values.Wall is their
// time. Total covers all waits, also those for an unknown holder. Those have the reason why it is unknown as their
// outermost function. WritePprof writes the values of a mutex profile of Go, contentions and delay.
func (p *Profile) Contention() *Profile {
	c := p.p.Contention()
	if c == nil {
		return nil
	}
	return &Profile{p: c, cost: p.cost}
}

// Start returns when sampling began.
func (p *Profile) Start() time.Time { return p.p.Start }

// Duration returns how long sampling lasted.
func (p *Profile) Duration() time.Duration { return p.p.Duration }

// Total returns the sum over all stacks.
func (p *Profile) Total() Values { return valuesOf(p.p.Total()) }

// Functions returns every function that was seen on a stack, those with the most processor time of their own first.
func (p *Profile) Functions() []Function {
	list := p.p.Functions(&profile.Options{Value: p.value()})
	functions := make([]Function, len(list))
	for i, f := range list {
		functions[i] = Function{f.Name, f.Object, f.Call, valuesOf(f.Self), valuesOf(f.Total)}
	}
	return functions
}

// Cost returns one line that says what sampling has cost the process, and what was missed.
func (p *Profile) Cost() string { return p.cost }

// WriteText writes a table of functions, with their shares of processor time and wall time.
func (p *Profile) WriteText(w io.Writer) error { return p.write(w, profile.Text) }

// WriteFolded writes a line for each stack, in the form that flame graph scripts read, with processor time in
// nanoseconds.
func (p *Profile) WriteFolded(w io.Writer) error { return p.write(w, profile.Folded) }

// WritePprof writes a gzipped profile.proto, which go tool pprof reads.
func (p *Profile) WritePprof(w io.Writer) error { return p.write(w, profile.Pprof) }

// WriteSpeedscope writes the format of speedscope.app, with processor time.
func (p *Profile) WriteSpeedscope(w io.Writer) error { return p.write(w, profile.Speedscope) }

// WriteJSON writes the whole profile, as psample -O json does: threads, functions, mappings,
// locations and stacks.
func (p *Profile) WriteJSON(w io.Writer) error { return p.write(w, profile.JSON) }

// WriteHTML writes a page with flame graphs.
func (p *Profile) WriteHTML(w io.Writer) error { return p.write(w, profile.HTML) }

// Engine returns the profile of one value as a profile.proto, in the form that engines for continuous profiles expect.
// The profile of an idle process may have no sample.
func (p *Profile) Engine(what What) *pprof.Profile {
	if what == Wall {
		return p.p.Engine(profile.Wall)
	}
	return p.p.Engine(profile.CPU)
}

// WriteCPU writes a gzipped profile.proto of processor time alone. It has the sample types of Go's own CPU
// profiles, as engines for continuous profiles expect.
func (p *Profile) WriteCPU(w io.Writer) error { return p.p.WriteEngine(w, profile.CPU) }

// WriteWall is WriteCPU of wall time.
func (p *Profile) WriteWall(w io.Writer) error { return p.p.WriteEngine(w, profile.Wall) }

// WriteMutex writes a profile that Contention has returned, with the sample types of Go's own mutex profiles, as
// engines expect.
func (p *Profile) WriteMutex(w io.Writer) error { return p.p.WriteMutex(w) }

// WriteContentions writes a profile that Contention has returned in the text form of Go's mutex profiles.
func (p *Profile) WriteContentions(w io.Writer) error { return p.p.WriteContentions(w) }

func (p *Profile) write(w io.Writer, f profile.Format) error {
	return p.p.Write(w, f, &profile.Options{Value: p.value()})
}

// value is the value that functions are sorted by, and that formats with one value count.
func (p *Profile) value() profile.Value {
	if p.p.Subject == profile.Contention {
		return profile.Wall
	}
	return profile.CPU
}

func valuesOf(v profile.Values) Values {
	return Values{v.Samples, time.Duration(v.CPU), time.Duration(v.Wall)}
}
