package profile

import (
	"slices"
	"time"

	"ptools/internal/intern"
)

// Subject says what the samples of a profile are.
type Subject uint8

const (
	// Time is a profile of where threads spend their time.
	Time Subject = iota
	// ThreadCreate is a profile of where threads are created: only the
	// sample counts mean something.
	ThreadCreate
	// Contention is a profile of waiting for locks. The stacks are those of the threads that hold the locks,
	// Samples counts waits, and Wall is how long they took. See [Profile.Contention].
	Contention
	// Block is a profile of goroutines that wait for each other. Samples counts how often they were met at that, and Goroutines is
	// their time. It has the forms of writePprof and WriteContentions only.
	Block
	// Calls is a profile of calls of functions, by stacks whose innermost functions are those that were called. Samples counts
	// calls, Wall is how long they took, and Sum is a number that is summed over them. See Called.
	Calls
)

// Profile is what a sampler has seen. The exported fields are set by the
// sampler before the profile is written.
type Profile struct {
	Subject    Subject
	Start      time.Time       // when the first round was due
	Duration   time.Duration   // wall time covered
	Period     time.Duration   // interval between rounds
	Rounds     int64           // rounds taken; shares of samples are of this
	CPU        time.Duration   // processor time of the targets meanwhile
	Means      string          // how that was divided among stacks, for users
	Existing   int64           // threads that existed before thread creations were counted; they are among the samples
	Timeline   bool            // keep when threads were in which stack
	Goroutines GoroutineRounds // how the cells of goroutines came about
	Called     Called          // of Calls: what was called

	members
	names
	reduced
	spaces   []*Space
	archives map[int]*archive // by pid
	spanned  int              // spans of all spaces
	marks    []*Mark          // marks that have not been released
	lockWaits
}

// lockWaits is what a profile has of waits for locks.
type lockWaits struct {
	waiting *waiting // nil if waits for locks are not counted
	waiters *Profile // of a Contention: the same waits by the stacks of the threads that waited
	unowned *Profile // of a Contention: the waits for things that no thread holds
}

// reduced says what a profile lacks.
type reduced struct {
	kept    string // which stacks are left, and how much they are, for users; empty: all
	partial bool   // neither rounds nor ready time is known, because the profile was read from a file of pprof
}

// members are the threads and processes that are distinguished.
type members struct {
	processes []Process          // of a tree, by ProcessID less one
	others    map[string]Command // sums of further processes, by name
	threads   []thread
	threadIDs map[threadKey]ThreadID
}

// names are the functions and notes that locations refer to.
type names struct {
	functions []function
	funcIDs   map[function]uint32
	notes     []string
}

// ThreadID names a thread within its profile.
type ThreadID uint32

type threadKey struct {
	pid, tid int
	process  ProcessID    // of a tree, where several processes may have had the same number
	set      goroutineSet // of goroutines, which have no tid
}

type thread struct {
	threadKey
	name string
}

// function is one line of a histogram: the same name in two objects is two
// functions.
type function struct {
	name, file, object string
	raw                string // name as the file has it
	place              bool   // name is Frame.Place: the function's name is unknown
}

// maxThreads bounds the threads that are distinguished. Otherwise a program
// that starts threads for hours would make the profile grow without a bound.
// Further threads share one entry per process, with tid 0.
const maxThreads = 1 << 16

// New returns an empty profile.
func New() *Profile {
	return &Profile{
		members: members{threadIDs: make(map[threadKey]ThreadID)},
		names:   names{funcIDs: make(map[function]uint32)},
	}
}

// Thread returns the entry of a thread. It makes one if the profile has none
// for this pid and tid. The name is that of the first call; see
// [Profile.Rename].
func (p *members) Thread(pid, tid int, name string) ThreadID {
	return p.threadOf(threadKey{pid: pid, tid: tid}, name)
}

func (p *members) threadOf(k threadKey, name string) ThreadID {
	if id, ok := p.threadIDs[k]; ok {
		return id
	}
	if len(p.threads) >= maxThreads {
		k.tid, name = 0, "[other threads]"
		if k.set != "" {
			k.set, name = unlabelled, unlabelled.String()
		}
		if id, ok := p.threadIDs[k]; ok {
			return id
		}
	}
	id := ThreadID(len(p.threads))
	p.threads = append(p.threads, thread{k, Clean(name)})
	p.threadIDs[k] = id
	return id
}

// Rename sets a new name of a thread.
func (p *members) Rename(id ThreadID, name string) {
	if t := &p.threads[id]; t.tid != 0 {
		t.name = Clean(name)
	}
}

// ThreadName returns the present name of a thread.
func (p *members) ThreadName(id ThreadID) string { return p.threads[id].name }

// Note returns a level that is a name instead of an address: the system call
// that a thread waits in, "[futex]", or "[exited]".
func (p *names) Note(name string) Addr {
	name = Clean(name)
	for i, s := range p.notes {
		if s == name {
			return Addr{PC: uint64(i), Kind: note}
		}
	}
	p.notes = append(p.notes, name)
	return Addr{PC: uint64(len(p.notes) - 1), Kind: note}
}

// Total returns the sum of all cells.
func (p *Profile) Total() Values {
	var sum Values
	for _, s := range p.spaces {
		for i := range s.cells {
			sum.add(s.cells[i].Values)
		}
	}
	return sum
}

// function interns f with clean names.
func (p *names) function(f function) uint32 {
	if id, ok := p.funcIDs[f]; ok {
		return id
	}
	c := function{Clean(f.name), Clean(f.file), Clean(f.object), Clean(f.raw), f.place}
	id := intern.ID(p.funcIDs, &p.functions, c, c)
	if c != f {
		p.funcIDs[f] = id
	}
	return id
}

// named returns the lines of a location whose functions have names.
func (p *names) named(l *location) []line {
	isPlace := func(n line) bool { return p.functions[n.fn].place }
	if !slices.ContainsFunc(l.lines, isPlace) {
		return l.lines
	}
	return slices.DeleteFunc(slices.Clone(l.lines), isPlace)
}
