package perfevent

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// trapped has the programs of a Calls, and where they run.
type trapped struct {
	planter  Planter
	planting sync.Mutex // held while traps are planted or lifted, before mu
	links    [][]uint64 // where each one has a program

	mu      sync.Mutex
	machine machine
	codes   [][]instruction
	places  map[uint64][]trapPlace // what runs at each trap
	closed  bool
}

// A trapPlace is a program that runs at a trap.
type trapPlace struct {
	code   []instruction
	cookie uint64
	link   int
}

// The numbers that programs have for maps, in place of descriptors.
const (
	trapWords = regionMaps + iota
	trapTemplate
	trapCopies
	trapRing
	trapOpen   = regionTables
	trapGroups = regionTables + 1
)

// OpenTrapped is OpenCalls without the kernel: threads stop at traps that a Planter plants, and the programs run in this process. Nothing is counted
// of children.
func OpenTrapped(planter Planter, pid, functions int, which CallReports, groups CallGroups) (*Calls, error) {
	if functions > MostFunctions {
		return nil, fmt.Errorf("%d functions are more than %d", functions, MostFunctions)
	}
	if runtime.GOARCH != "amd64" {
		return nil, ErrNoUprobes
	}
	ours := pidNamespace{ino: firstPIDNamespace} // programs are told the numbers that we know threads by
	c := &Calls{
		sets: newLinkSets(), pid: pid, programs: map[string]int{}, made: map[programFor]int{}, exec: [2]int{-1, -1},
		reports: reports{CallReports: which, fd: trapRing, ours: ours},
		trapped: &trapped{planter: planter, places: map[uint64][]trapPlace{}},
		maps: callMaps{start: callStart{pid: pid, ours: ours, cookies: -1}, words: trapWords, open: trapOpen, groups: -1, template: trapTemplate, copies: trapCopies,
			functions: functions, away: noAway(), most: min(groups.Most, MostGroups), sum: groups.Sum, detailed: which.detailed()},
	}
	if err := c.openTrapped(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// openTrapped makes the memory of the programs.
func (c *Calls) openTrapped() (err error) {
	m, x := &c.maps, &c.trapped.machine
	x.clock, x.comm = func() uint64 { return uint64(Now()) }, threadName
	x.tables, x.queue = map[int]*table{}, &queue{most: ringBufferSize}
	if c.mem, err = anonymous(8 * m.allWords()); err != nil {
		return err
	}
	if m.most > 0 {
		m.groups = trapGroups
		x.tables[trapGroups] = newMachineTable(trapGroups, 8*(1+keyWords), 8, m.most)
	}
	size := 8
	if m.grouped() {
		size = 8 * openWords
	}
	if m.detailed {
		size, x.queue.most = int(valuesSize), detailedRing
		if c.copies, err = anonymous(int(copiesSize) * m.functions); err != nil {
			return err
		}
	}
	if c.reports.Stack {
		x.queue.most = stackRing
	}
	x.tables[trapOpen] = newMachineTable(trapOpen, callIDSize, size, openCalls)
	x.regions = []region{{c.mem, true}, {make([]byte, valuesSize), false}, {c.copies, false}}
	return nil
}

// anonymous returns memory that is zero.
func anonymous(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	return b, os.NewSyscallError("mmap", err)
}

// threadName returns the name of a thread, nothing if it has ended.
func threadName(pid, tid int) []byte {
	name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/comm")
	return bytes.TrimSuffix(name, []byte("\n"))
}

// load returns the number of a program.
func (x *trapped) load(code []instruction) int {
	x.codes = append(x.codes, code)
	return len(x.codes) - 1
}

// link has a program run at places, and returns the number of the link.
func (x *trapped) link(program int, places []CallPlace, generation uint64, refused map[int]error) int {
	x.planting.Lock()
	defer x.planting.Unlock()
	link := len(x.links)
	x.links = append(x.links, nil)
	var addrs []uint64
	x.mu.Lock()
	for i := range places {
		p := &places[i]
		if len(x.places[p.Addr]) == 0 {
			addrs = append(addrs, p.Addr)
		}
		// The newest first, as the kernel has it.
		x.places[p.Addr] = slices.Insert(x.places[p.Addr], 0, trapPlace{x.codes[program], p.cookie() | generation<<callGeneration, link})
		x.links[link] = append(x.links[link], p.Addr)
	}
	x.mu.Unlock()
	if len(addrs) == 0 {
		return link
	}
	none := x.planter.Plant(addrs, x.run)
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range places {
		if err := none[places[i].Addr]; err != nil {
			refused[places[i].Function] = err
			delete(x.places, places[i].Addr)
		}
	}
	return link
}

// unlink has the programs of a link run no more.
func (x *trapped) unlink(link int) {
	x.planting.Lock()
	defer x.planting.Unlock()
	var unused []uint64
	x.mu.Lock()
	for _, addr := range x.links[link] {
		all, there := x.places[addr]
		if !there {
			continue
		}
		all = slices.DeleteFunc(all, func(p trapPlace) bool { return p.link == link })
		if x.places[addr] = all; len(all) == 0 {
			unused = append(unused, addr)
			delete(x.places, addr)
		}
	}
	x.links[link] = nil
	x.mu.Unlock()
	if len(unused) > 0 {
		x.planter.Lift(unused)
	}
}

// run runs the programs of the trap that a thread has hit.
func (x *trapped) run(hit *TrapHit) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	x.machine.context = contextOf(hit.Regs)
	for _, p := range x.places[hit.Addr] {
		x.machine.run(p.code, hit, p.cookie)
	}
}

// set writes a word between two hits: all programs at a trap have the same.
func (c *Calls) set(word int, value uint64) {
	if c.trapped != nil {
		c.trapped.mu.Lock()
		defer c.trapped.mu.Unlock()
	}
	atomic.StoreUint64(c.word(word), value)
}

// close lifts what is left, and returns an error if a program went wrong.
func (x *trapped) close() error {
	x.planting.Lock()
	defer x.planting.Unlock()
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	rest := slices.Collect(maps.Keys(x.places))
	clear(x.places)
	x.mu.Unlock()
	if len(rest) > 0 {
		x.planter.Lift(rest)
	}
	x.mu.Lock()
	x.closed, x.machine.regions, x.machine.tables = true, nil, nil
	x.mu.Unlock()
	return errors.Join(x.machine.accesses, x.planter.Close())
}

// forgetTrapped forgets the numbers that stand for descriptors.
func (c *Calls) forgetTrapped() {
	c.programs, c.reports.fd = nil, -1
	c.maps.words, c.maps.open, c.maps.groups, c.maps.template, c.maps.copies = -1, -1, -1, -1, -1
}
