package calls

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"ptools/internal/elfsym"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/pctl/handle"
)

// A Target is a function of a process.
type Target struct {
	Found
	Object     string // path of the file
	file       *elfsym.File
	named      bool   // a pattern without * and ? names it
	number     int    // in the kernel's table; -1: no probe
	entry      uint64 // run-time address
	conditions []*Condition
	layout     *layout               // of what is known of its calls; nil if that is only their time
	by         *resolvedKey          // nil: the kernel does not tell its calls apart
	sum        *perfevent.Expression // nil: nothing is summed
	types      *goTypes              // for a Go program
	goid       uint64                // of a Go function: where in a g the goroutine's number is; 0: not known
}

// A Selection is what was found in a process.
type Selection struct {
	PID     int
	Targets []Target
	main    string // path of the program
	memory  Memory
	space   *handle.Space
	image   *procfs.Image
	objects []object
	first   []int // number of the first target of each object, and at last of all
	hits    []int // names that each pattern has matched

	patterns []Pattern
	lines    map[int][]*lineFound // of each pattern that is a line, in each object
	searched map[*elfsym.File]bool
	nextLook time.Time // see Look
	loads    *loads    // nil: nothing is loaded that could be missed
}

// Missed returns the patterns that name no function, by their numbers.
func (s *Selection) Missed() (missed []int) {
	for i, n := range s.hits {
		if n == 0 {
			missed = append(missed, i)
		}
	}
	return missed
}

// add looks for functions in an object, those of the patterns with some numbers.
func (s *Selection) add(o *object, wanted []int, arguments bool) {
	if len(wanted) == 0 || s.searched[o.File] {
		return
	}
	s.searched[o.File] = true
	s.objects, s.first = append(s.objects, *o), append(s.first, len(s.Targets))
	conditions, named := map[string][]*Condition{}, map[string]bool{}
	matches := s.matcher(o.File, wanted)
	found := Find(o.File, arguments, func(f *elfsym.Sym) bool {
		all := matches(f)
		for _, i := range all {
			s.hits[i]++
			named[f.Raw] = named[f.Raw] || s.patterns[i].plainName()
			conditions[f.Raw] = append(conditions[f.Raw], s.patterns[i].Condition)
		}
		return len(all) > 0
	})
	var types *goTypes
	if _, ok := o.File.Go(); ok {
		types = newGoTypes(o, s.memory, constants{s.space})
	}
	for _, f := range found {
		s.Targets = append(s.Targets, Target{Found: f, Object: o.Path, file: o.File, named: named[f.Raw], number: -1, entry: f.Start + o.Bias, conditions: conditions[f.Raw], types: types})
	}
}

// matcher returns a function that returns which patterns, of those with some numbers, name a function of a file.
func (s *Selection) matcher(file *elfsym.File, wanted []int) func(*elfsym.Sym) []int {
	lines := map[int]*lineFound{}
	for _, i := range wanted {
		if l := s.patterns[i].line; l != nil {
			lines[i] = l.find(file)
			s.lines[i] = append(s.lines[i], lines[i])
		}
	}
	return func(f *elfsym.Sym) (matching []int) {
		if !slices.ContainsFunc(wanted, func(i int) bool { return lines[i] != nil || s.patterns[i].mayMatch(f.Raw) }) {
			return nil
		}
		names := NamesOf(f.Raw)
		for _, i := range wanted {
			if l := lines[i]; l != nil && l.has(f) || l == nil && s.patterns[i].Matches(&names) {
				matching = append(matching, i)
			}
		}
		return matching
	}
}

// A Watch counts and times the calls of functions of a process.
type Watch struct {
	*Selection
	unprobed
	kernel   *perfevent.Calls
	spec     Spec
	numbered []*Target // by their numbers in the kernel's table
	texts    []probedText
	scope    perfevent.Scope
	guard    guard
	stacks   *stacks // nil until the first
	groups   groups
	tree     tree

	firstEnded time.Time // when the first thread was first seen to have ended
	lost       error     // see Lost
}

// A Spec says what is counted of calls beside their times.
type Spec struct {
	CallReports
	By  *Key // what they are told apart by; nil: only their functions
	Sum *Sum // a number that is summed; nil: none
	// Limit is how much the probes may take of the target's time, in processors; 0: any. Functions that are called too often are then counted and
	// not timed, or have no probe: see [Watch.Changed].
	Limit float64
	Cost  Cost // what a hit takes
	// Follow: calls of children that the process has from Open on, and of theirs, are counted, too, and of the programs that they execute, as far as
	// these have the same files mapped. With values or stacks, by caller, stack or a value of a Go interface, the counting of a process ends when it
	// executes another program: what is at the addresses is known of the first one alone.
	Follow bool
	// Planter: threads are stopped at traps, and the programs run in this process. nil: they run in the kernel, at uprobes.
	Planter Planter

	most int // keys, in tests; 0: as many as there can be
}

// scope returns whose calls are counted, with the keys of targets.
func (s *Spec) scope(targets []Target) perfevent.Scope {
	switch {
	case !s.Follow:
		return perfevent.Alone
	case s.Values || s.Stack || s.By != nil && s.By.kind == byCaller:
		return perfevent.Children
	}
	for i := range targets {
		if by := targets[i].by; by != nil && by.typ != nil && by.typ.Kind == elfsym.GoInterface {
			return perfevent.Children
		}
	}
	return perfevent.Programs
}

// Arguments reports whether arguments have to be where they are known, at the place of the entry's probe.
func (s *Spec) Arguments() bool { return s.Values || s.By.values() || s.Sum != nil }

// Open makes the probes. Targets that cannot have one get an Err, and those whose ends cannot be seen a Plan.Whole. Nothing is
// counted before Begin.
func (s *Selection) Open(spec Spec) (*Watch, error) {
	if err := s.describe(&spec); err != nil {
		return nil, err
	}
	n := 0
	for i := range s.Targets {
		if t := &s.Targets[i]; t.Err == nil {
			t.number = n
			n++
		}
	}
	if n == 0 {
		return nil, ErrNothing
	}
	var apart perfevent.CallGroups
	if apart.Sum = spec.Sum != nil; spec.By.inKernel() {
		apart.Most = cmp.Or(spec.most, perfevent.MostGroups)
	}
	if spec.By.Stack() {
		spec.Each, spec.Stack = true, true
	} else {
		spec.Times = perfevent.WithCPU
	}
	of := spec.scope(s.Targets)
	kernel, err := s.engine(&spec, n, apart, of)
	if err != nil {
		return nil, err
	}
	if !kernel.Exchanges() {
		spec.Limit = 0
	}
	w := &Watch{Selection: s, kernel: kernel, spec: spec, scope: of, unprobed: watchUnprobed(s.PID)}
	for i := range s.Targets {
		if s.Targets[i].number >= 0 {
			w.numbered = append(w.numbered, &s.Targets[i])
		}
	}
	for i := range s.objects {
		targets := s.Targets[s.first[i]:s.first[i+1]]
		if err := w.prepare(&s.objects[i], targets); err != nil { // it may have been unloaded
			for j := range targets {
				targets[j].Err = cmp.Or(targets[j].Err, err)
			}
		}
	}
	w.guard.coverage = make([]cover, n)
	first := survey{watch: w, expected: map[int]float64{}}
	if spec.Limit > 0 {
		first.choose()
	}
	ends, entries := w.plant()
	first.end()
	for number, err := range ends {
		w.numbered[number].Plan.Whole = err
	}
	for number, err := range entries {
		w.numbered[number].Err = err
	}
	if err := countsAny(w); err != nil {
		w.Close()
		return nil, err
	}
	w.loads = watchLoads(w)
	return w, nil
}

// places returns how many places have a probe.
func (s *Selection) places() (n int) {
	for i := range s.Targets {
		if t := &s.Targets[i]; t.Err == nil {
			n += 1 + len(t.Plan.Returns)
		}
	}
	return n
}

// Memory is the memory of a process.
type Memory interface {
	ReadAt(b []byte, addr int64) (int, error)
}

// ErrNothing is the error if none of the functions can have a probe.
var ErrNothing = errors.New("none of the functions can have a probe")

// Why a place can have no probe.
var (
	errChanged = errors.New("its text in memory differs from that of its file")
	errMapped  = errors.New("its text is not mapped from a file, or can be written")
)

// Programs reports whether, with Spec.Follow, calls of other programs are counted that processes execute.
func (w *Watch) Programs() bool { return w.scope == perfevent.Programs }

// Limited reports whether there is a limit to what the probes may take. There is none where the kernel has no uprobe_multi links (Linux 6.6):
// their probes cannot be lifted while others count.
func (w *Watch) Limited() bool { return w.spec.Limit > 0 }

// Space returns what names addresses of the process.
func (w *Watch) Space() *handle.Space { return w.space }

// Program returns the path of the program.
func (w *Watch) Program() string { return w.main }

// Probed returns the functions that have probes, by their run-time addresses.
func (w *Watch) Probed() map[uint64]*Target {
	all := map[uint64]*Target{}
	for _, t := range w.numbered {
		all[t.entry] = t
	}
	return all
}

// Entry returns the run-time address of a function.
func (t *Target) Entry() uint64 { return t.entry }

// Begin begins the counting.
func (w *Watch) Begin() {
	w.kernel.Switch(true)
	w.guard.watch(w)
}

// End ends the counting of calls that begin.
func (w *Watch) End() {
	w.kernel.Switch(false)
	w.guard.end()
	w.unprobed.end(w)
	w.nextLook = time.Time{}
}

// Over reports whether none of the processes is left whose calls are counted, with Spec.Follow. It is to be called several times a second.
func (w *Watch) Over() bool { return w.kernel.Over() }

// Left returns how many of the processes that Spec.Follow means have executed other programs, and how many there was no room for.
func (w *Watch) Left() (executed, unfollowed uint64) { return w.kernel.Left() }

// Executed reports whether the process has executed another program since Open. Nothing is counted any more then, unless children are followed.
func (w *Watch) Executed() bool { return w.kernel.Executed() }

// Close lifts the probes.
func (w *Watch) Close() error {
	w.guard.end()
	w.unprobed.close()
	other := w.loads.close() // each waits for the kernel
	err := errors.Join(w.kernel.Close(), <-other)
	w.loads = nil
	for i := range w.texts {
		w.texts[i].file.Close()
	}
	w.texts = nil
	return err
}

// Read reads the statistics of target i. It returns false if that has no probe.
func (w *Watch) Read(i int, s *Stats) bool {
	t := &w.Targets[i]
	if t.number < 0 || t.Err != nil {
		return false
	}
	w.kernel.Read(t.number, s)
	return true
}
