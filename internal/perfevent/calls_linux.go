package perfevent

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
)

// Calls counts and times in the kernel the calls of functions of one process, or of a family. It stops no thread. Its methods belong to one
// goroutine.
type Calls struct {
	pid      int
	maps     callMaps
	mem      []byte
	programs map[string]int // by their code
	made     map[programFor]int
	exec     [2]int     // execProgram, or leaveProgram, and its link
	family   *family    // nil: calls of children are not counted
	links    []callLink // those of the returns first
	sets     linkSets
	reports  reports
	copies   []byte   // the Copies of all functions
	trapped  *trapped // nil: the kernel runs the programs
}

// openCalls is how many calls may be open at the same time, with those that never end.
const openCalls = 1 << 17

// OpenCalls prepares the counting of a number of functions in process pid. It needs uprobe_multi links (Linux 6.6),
// or perf events that are uprobes, and Linux 5.12. Children are those that it has from now on, and theirs. Nothing is counted before Switch.
func OpenCalls(pid, functions, places int, which CallReports, groups CallGroups, of Scope) (*Calls, error) {
	if functions > MostFunctions {
		return nil, fmt.Errorf("%d functions are more than %d", functions, MostFunctions)
	}
	if runtime.GOARCH != "amd64" {
		return nil, ErrNoUprobes
	}
	c := &Calls{
		sets: newLinkSets(),
		pid:  pid, programs: map[string]int{}, made: map[programFor]int{}, exec: [2]int{-1, -1}, reports: reports{CallReports: which, fd: -1},
		maps: callMaps{start: callStart{pid: pid, cookies: -1}, words: -1, open: -1, groups: -1, template: -1, copies: -1, functions: functions, away: noAway(),
			most: min(groups.Most, MostGroups), sum: groups.Sum, detailed: which.detailed()},
	}
	err := c.start(places)
	if err == nil && of != Alone {
		c.family, err = openFamily(pid, of)
		c.maps.family, c.reports.family = c.family, true
	}
	if err == nil {
		err = c.open()
	}
	if err != nil {
		c.Close()
		return nil, need.Uprobes.Explain(err)
	}
	return c, nil
}

func (c *Calls) open() (err error) {
	m := &c.maps
	if m.words, c.mem, err = newWords(uintptr(m.allWords())); err != nil {
		return os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
	}
	size, flags := uint32(8), uint32(0)
	if m.most > 0 {
		if m.groups, err = newTable(8*(1+keyWords), 8, uint32(m.most), 0); err != nil {
			return os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
		}
	}
	if c.reports.any() && c.reports.Times == WithCPU {
		m.away.open()
	}
	if m.grouped() || m.away.on() {
		size = 8 * openWords
	}
	if m.detailed {
		// Few calls are open at a time. Memory for all would be too much to take in advance.
		size, flags = uint32(valuesSize), unix.BPF_F_NO_PREALLOC
		var unused []byte
		if m.template, unused, err = newWords(uintptr(valuesSize) / 8); err == nil {
			unix.Munmap(unused)
			m.copies, c.copies, err = newWords(uintptr(copiesSize) / 8 * uintptr(m.functions))
		}
		if err != nil {
			return os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
		}
	}
	if m.open, err = newTable(callIDSize, size, openCalls, flags); err != nil {
		return os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
	}
	if err := c.reports.open(c.pid, m.most > 0); err != nil {
		return err
	}
	if err := c.watchExec(); err != nil {
		return err
	}
	_, err = c.program(&CallPlace{}, true) // an error about what cannot be had comes now
	return err
}

// newTable makes a table.
func newTable(key, value, entries, flags uint32) (int, error) {
	attr := struct{ kind, keySize, valueSize, entries, flags uint32 }{unix.BPF_MAP_TYPE_HASH, key, value, entries, flags}
	return unlocked(func() (int, error) { return bpf(unix.BPF_MAP_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr)) })
}

// programFor is what a program depends on.
type programFor struct {
	entry     bool
	condition *Condition
	key       *CallKey
	amount    *Expression
}

// program returns the program for a place. Many places have the same.
func (c *Calls) program(p *CallPlace, entry bool) (int, error) {
	what := programFor{entry, p.Condition, p.Key, p.Amount}
	if program, ok := c.made[what]; ok {
		return program, nil
	}
	code := returnProgram(c.maps, &c.reports, p)
	if entry {
		code = entryProgram(c.maps, &c.reports, p)
	}
	key := string(encode(code))
	program, ok := c.programs[key]
	if !ok {
		var err error
		if program, err = c.load(code); err != nil {
			return -1, err
		}
		c.programs[key] = program
	}
	c.made[what] = program
	return program, nil
}

// load loads a program for the kind of probes.
func (c *Calls) load(code []instruction) (int, error) {
	if c.trapped != nil {
		return c.trapped.load(code), nil
	}
	load := loadProbe
	if c.maps.start.events != nil {
		load = loadEvent
	}
	program, err := load(code)
	return program, os.NewSyscallError("bpf(BPF_PROG_LOAD)", err)
}

// Copy says what is copied for each call of a function. It has to be called before the function's entry is attached.
func (c *Calls) Copy(function int, what *Copies) {
	if c.copies != nil {
		*(*Copies)(unsafe.Pointer(&c.copies[function*int(copiesSize)])) = *what
	}
}

// Attach makes the probes of functions of one file. It returns those that the kernel refuses, with the reasons; the others are
// made. Ends have to come before entries, so that no call is begun whose end is not seen: attach the ends of a function first.
func (c *Calls) Attach(path string, entries bool, places []CallPlace) map[int]error {
	refused := map[int]error{}
	if c.maps.start.events != nil {
		places = c.known(places, refused)
	}
	byProgram := map[int][]CallPlace{}
	for _, p := range places {
		program, err := c.program(&p, entries)
		if err != nil {
			refused[p.Function] = err
			continue
		}
		byProgram[program] = append(byProgram[program], p)
	}
	for program, places := range byProgram {
		if x := c.trapped; x != nil {
			c.links = append(c.links, callLink{fd: x.link(program, places, c.sets.generation, refused), trapped: x})
			continue
		}
		c.try(program, path, places, refused)
	}
	return refused
}

// maxRefused bounds how many functions of a file the kernel may refuse one by one.
const maxRefused = 64

// try links the places that the kernel takes. It refuses all for one, so they are halved until that is found.
func (c *Calls) try(program int, path string, places []CallPlace, refused map[int]error) {
	if len(places) == 0 {
		return
	}
	link := c.link
	if c.maps.start.events != nil {
		link = c.traceLink
	}
	l, err := link(program, path, places)
	switch half := len(places) / 2; {
	case err == nil:
		c.links = append(c.links, l)
	case half > 0 && len(refused) < maxRefused && OfInstruction(err):
		c.try(program, path, places[:half], refused)
		c.try(program, path, places[half:], refused)
	default:
		for _, p := range places {
			refused[p.Function] = need.Uprobes.Explain(err)
		}
	}
}

// link attaches a program to places of a file.
func (c *Calls) link(program int, path string, places []CallPlace) (callLink, error) {
	offs, cookies := make([]uint64, len(places)), make([]uint64, len(places))
	for i := range places {
		offs[i], cookies[i] = places[i].Off, places[i].cookie()|c.sets.generation<<callGeneration
	}
	pid := c.pid
	if c.family != nil {
		pid = 0 // all processes
	}
	fd, err := linkProbes(program, path, offs, cookies, pid)
	if err != nil {
		return callLink{}, fmt.Errorf("uprobes in %s: %w", path, err)
	}
	return callLink{fd: fd}, nil
}

// word returns a word of the shared memory.
func (c *Calls) word(i int) *uint64 { return (*uint64)(unsafe.Pointer(&c.mem[8*i])) }

// Switch begins or ends the counting of calls that begin. Those that have begun are followed to their ends. It does not begin if the
// process has executed another program since OpenCalls.
func (c *Calls) Switch(on bool) {
	var value uint64
	if on {
		value = 1
	}
	atomic.StoreUint64(c.word(wordOn), value)
	if c.Executed() { // in this order: execProgram sets this word first
		atomic.StoreUint64(c.word(wordOn), 0)
	}
}

// Unread returns how many calls do not count because memory that their condition is about could not be read.
func (c *Calls) Unread() uint64 { return atomic.LoadUint64(c.word(wordUnread)) }

// Elsewhere returns how often probes were reached in a mapping of a file that was not the one of the places, where links have no cookies: those
// calls are not counted.
func (c *Calls) Elsewhere() uint64 { return atomic.LoadUint64(c.word(wordElsewhere)) }

// Executed reports whether the process has executed another program since OpenCalls. Of a family see Left.
func (c *Calls) Executed() bool {
	if c.trapped != nil && c.trapped.planter.Executed() {
		return true
	}
	return c.family == nil && atomic.LoadUint64(c.word(wordExec)) != 0
}

// Read reads what is known of a function: of its calls whose keys had no room, if calls are told apart. The values are not of exactly the same moment.
func (c *Calls) Read(function int, s *CallStats) { c.read(wordsBefore+wordsEach*function, s) }

// read reads statistics.
func (c *Calls) read(at int, s *CallStats) {
	load := func(i int) uint64 { return atomic.LoadUint64(c.word(at + i)) }
	s.Left, s.Untimed, s.Tails, s.Unseen = load(wordLeft), load(wordUntimed), load(wordTails), load(wordUnreported)
	s.Sum, s.Max = time.Duration(load(wordSum)), time.Duration(load(wordMax))
	for i := range s.Buckets {
		s.Buckets[i] = load(wordBuckets + i)
	}
	s.Amount = CallSum{load(wordSummed), int64(load(wordHigh)), load(wordLow)}
	s.Returned = load(wordReturned)
	s.Calls = load(wordCalls)
}

// Close lifts the probes, those of the entries first. It blocks for some grace periods.
func (c *Calls) Close() error {
	errs := []error{c.sets.wait()}
	c.links = append(c.sets.old, c.links...)
	for i := len(c.links) - 1; i >= 0; i-- {
		errs = append(errs, c.links[i].Close())
		if name := c.links[i].event; name != "" {
			errs = append(errs, c.maps.start.events.remove(name))
		}
	}
	if c.trapped != nil {
		errs = append(errs, c.trapped.close())
		c.forgetTrapped()
	}
	c.maps.start.close()
	for _, program := range c.programs {
		closeAll(program)
	}
	if c.family != nil {
		c.family.close()
	}
	closeAll(c.exec[1], c.exec[0], c.maps.words, c.maps.open, c.maps.groups, c.maps.template, c.maps.copies, c.reports.fd)
	c.maps.away.close()
	c.reports.ring.close()
	for _, m := range [][]byte{c.mem, c.copies} {
		if m != nil {
			unix.Munmap(m)
		}
	}
	c.links, c.mem, c.copies, c.programs, c.made = nil, nil, nil, nil, nil
	c.exec = [2]int{-1, -1}
	c.reports.fd, c.reports.CallReports = -1, CallReports{}
	c.maps.words, c.maps.open, c.maps.groups, c.maps.template, c.maps.copies = -1, -1, -1, -1, -1
	return errors.Join(errs...)
}
