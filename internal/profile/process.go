package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"time"

	"ptools/internal/intern"
)

// ProcessID names a process of a tree within its profile. 0 is none: a process that was sampled by itself.
type ProcessID uint32

// Process is one process of a tree that was sampled with all its descendants.
type Process struct {
	PID, PPID int
	Command   string        // the last name of its first thread
	CPU       time.Duration // of all its threads
	Wall      time.Duration // how long it lived while it was sampled
}

// Command is the sum over all processes of a tree with the same name.
type Command struct {
	Name      string
	Processes int64
	CPU       time.Duration
	Wall      time.Duration
}

// By says what the root of stacks is, in outputs that have only names.
type By uint8

const (
	ByProcess   By = iota // of a tree, name and number of the process
	ByCommand             // of a tree, the name of the process
	ByNone                // nothing: processes are not distinguished
	ByGoroutine           // number of the goroutine
)

var byNames = [...]string{ByProcess: "process", ByCommand: "command", ByNone: "none", ByGoroutine: "goroutine"}

// ParseBy returns the meaning of process, command, none or goroutine.
func ParseBy(name string) (b By, ok bool) {
	i := slices.Index(byNames[:], name)
	return By(max(i, 0)), i >= 0
}

// maxProcesses bounds the processes that are distinguished. Further ones share an entry without a number.
const maxProcesses = 1 << 16

// Process adds a process of a tree.
func (p *members) Process(pid, ppid int) ProcessID {
	if len(p.processes) < maxProcesses {
		p.processes = append(p.processes, Process{PID: pid, PPID: ppid})
	} else if len(p.processes) == maxProcesses {
		p.processes = append(p.processes, Process{Command: "[other processes]"})
	}
	return ProcessID(len(p.processes))
}

// SetProcess sets the final data of a process of a tree. It must be called once for each.
func (p *members) SetProcess(id ProcessID, command string, cpu, wall time.Duration) {
	q := &p.processes[id-1]
	if q.PID == 0 {
		q.CPU, q.Wall = q.CPU+cpu, q.Wall+wall
		if p.others == nil {
			p.others = make(map[string]Command)
		}
		c := p.others[Clean(command)]
		p.others[Clean(command)] = Command{Clean(command), c.Processes + 1, c.CPU + cpu, c.Wall + wall}
		return
	}
	q.Command, q.CPU, q.Wall = Clean(command), cpu, wall
}

// NameProcess sets the present name of a process of a tree. SetProcess overrides it.
func (p *members) NameProcess(id ProcessID, command string) {
	if q := &p.processes[id-1]; q.PID != 0 {
		q.Command = Clean(command)
	}
}

// ThreadOf is Thread for a thread of a process of a tree.
func (p *members) ThreadOf(id ProcessID, tid int, name string) ThreadID {
	if id == 0 {
		panic("profile: thread of no process")
	}
	return p.threadOf(threadKey{pid: p.processes[id-1].PID, tid: tid, process: id}, name)
}

// Commands returns a line for each command of a tree, those with the most processor time first.
func (p *members) Commands() []Command {
	byName := make(map[string]*Command)
	for name, c := range p.others {
		byName[name] = &c
	}
	for _, q := range p.processes {
		if q.PID == 0 {
			continue // others has such processes by name
		}
		c := intern.Value(byName, q.Command, func() *Command { return &Command{Name: q.Command} })
		c.Processes++
		c.CPU += q.CPU
		c.Wall += q.Wall
	}
	commands := make([]Command, 0, len(byName))
	for _, c := range byName {
		commands = append(commands, *c)
	}
	slices.SortFunc(commands, func(a, b Command) int {
		return cmp.Or(cmp.Compare(b.CPU, a.CPU), cmp.Compare(b.Processes, a.Processes), cmp.Compare(a.Name, b.Name))
	})
	return commands
}

// Processes returns the processes of a tree, in the order of ProcessID from 1. The slice must not be changed.
func (p *members) Processes() []Process { return p.processes }

// IsTree reports whether the profile is of a tree of processes.
func (p *members) IsTree() bool { return len(p.processes) > 0 }

// root appends the root of a thread's stacks.
func (p *members) root(t thread, o *Options, dst []label) []label {
	if number := t.set.number(); o.By == ByGoroutine && number != "" {
		return append(dst, label{name: "goroutine " + number})
	}
	if t.process == 0 || o.By == ByNone || o.By == ByGoroutine {
		return dst
	}
	q := &p.processes[t.process-1]
	name := cmp.Or(q.Command, unknown)
	if o.By == ByProcess && q.PID != 0 {
		name = fmt.Sprintf("%s (pid %d)", name, q.PID)
	}
	return append(dst, label{name: name})
}

// writeCommands writes the table of commands of a tree, at most most of them unless that is 0.
func writeCommands(p *Profile, b *bufio.Writer, most int) {
	if !p.IsTree() {
		return
	}
	fmt.Fprintf(b, "%9s  %9s  %9s  command\n", "processes", "cpu s", "wall s")
	commands := p.Commands()
	rest := commands[len(commands):]
	if most > 0 && len(commands) > most {
		commands, rest = commands[:most-1], commands[most-1:]
	}
	for _, c := range commands {
		fmt.Fprintf(b, "%9d  %9.2f  %9.2f  %s\n", c.Processes, c.CPU.Seconds(), c.Wall.Seconds(), cmp.Or(c.Name, unknown))
	}
	if len(rest) > 0 {
		var sum Command
		for _, c := range rest {
			sum.Processes, sum.CPU, sum.Wall = sum.Processes+c.Processes, sum.CPU+c.CPU, sum.Wall+c.Wall
		}
		fmt.Fprintf(b, "%9d  %9.2f  %9.2f  … %d more\n", sum.Processes, sum.CPU.Seconds(), sum.Wall.Seconds(), len(rest))
	}
	b.WriteByte('\n')
}

// tree returns the text that names what was sampled of a tree.
func (p *members) tree() string {
	n := int64(0)
	for _, c := range p.Commands() {
		n += c.Processes
	}
	first := p.processes[0]
	name := fmt.Sprintf("%s (pid %d)", first.Command, first.PID)
	switch n {
	case 1:
		return name
	case 2:
		return name + " and 1 process"
	}
	return fmt.Sprintf("%s and %d processes", name, n-1)
}

// Apportion changes the counted processor time of groups of threads to totals. group returns the number of a thread's
// group; it is negative for a thread that keeps its counts. Within a group the proportions stay. A group that has counted
// nothing gets nothing. Apportion returns what each group had counted before.
func (p *Profile) Apportion(totals []int64, group func(ThreadID) int) []int64 {
	return p.apportion(totals, func(_ *Space, id ThreadID) int { return group(id) })
}

// apportion is Apportion with groups that depend on the space, too.
func (p *Profile) apportion(totals []int64, group func(*Space, ThreadID) int) []int64 {
	sums := p.sums(len(totals), group)
	until, given := make([]int64, len(totals)), make([]int64, len(totals))
	for _, s := range p.spaces {
		for i := range s.cells {
			c := &s.cells[i]
			g := group(s, c.thread)
			if g < 0 || c.CPU == 0 {
				continue
			}
			until[g] += c.CPU
			share := int64(float64(until[g])*(float64(totals[g])/float64(sums[g]))) - given[g]
			if until[g] == sums[g] {
				share = totals[g] - given[g]
			}
			c.CPU = share
			given[g] += share
		}
	}
	return sums
}

// Sums returns the counted processor time of n groups of threads.
func (p *Profile) Sums(n int, group func(ThreadID) int) []int64 {
	return p.sums(n, func(_ *Space, id ThreadID) int { return group(id) })
}

func (p *Profile) sums(n int, group func(*Space, ThreadID) int) []int64 {
	sums := make([]int64, n)
	for _, s := range p.spaces {
		for i := range s.cells {
			if g := group(s, s.cells[i].thread); g >= 0 {
				sums[g] += s.cells[i].CPU
			}
		}
	}
	return sums
}

// ProcessOf returns the process of a tree that a thread belongs to, or 0.
func (p *members) ProcessOf(id ThreadID) ProcessID { return p.threads[id].process }
