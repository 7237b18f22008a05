package targets

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ptools/internal/procfs"
)

// Readings of /proc.
const (
	// Every is the time between two readings.
	Every = 500 * time.Millisecond

	youngFor = 6  // a new process is looked at in each of this many readings
	oldEvery = 10 // and later in one of this many

	youngTicks = 300 // 3 s
)

// uptime returns the time since boot in the ticks of /proc/PID/stat. If it is not known, every process counts as new.
func uptime() uint64 {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	seconds, _ := strconv.ParseFloat(first, 64)
	return uint64(seconds * 100)
}

// Watcher knows the targets of some rules. Its methods may be called from any goroutine.
type Watcher struct {
	mu      sync.Mutex
	rules   []*compiled
	known   map[int]*process
	byID    map[string]*process // those that are targets
	reading int
	list    []procfs.Listed
	now     uint64 // ticks since boot, of this reading
	err     error

	// These are under no lock: who asks for a target does not wait for a reading.
	found atomic.Pointer[found]
	moved atomic.Int64 // when Run has last read /proc, by time.Now; 0 unless it runs
}

// found is what the last reading has found.
type found struct {
	targets []*Target // ordered by number
	byID    map[string]*Target
	err     error
}

// NewWatcher returns a Watcher of some rules. It has read /proc once.
func NewWatcher(rules []Rule) (*Watcher, error) {
	w := &Watcher{known: make(map[int]*process), byID: make(map[string]*process)}
	w.found.Store(new(found))
	if err := w.SetRules(rules); err != nil {
		return nil, err
	}
	return w, w.Err()
}

// SetRules replaces the rules, and looks at all processes. If it returns an error, the rules are unchanged. A new rule
// with a PID means the process that has the number now. A rule that was set before keeps its process.
func (w *Watcher) SetRules(rules []Rule) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]*compiled, 0, len(rules))
	for _, r := range rules {
		c, err := r.compile()
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(w.rules, func(old *compiled) bool { return r.PID != 0 && old.PID == r.PID }); i >= 0 {
			c.start = w.rules[i].start
		} else if stat, err := procfs.ReadStat(r.PID); r.PID != 0 && err == nil {
			c.start = stat.StartTime
		}
		list = append(list, c)
	}
	w.rules = list
	for _, p := range w.known {
		p.due = true
		if p.heir != nil {
			i := slices.IndexFunc(list, func(c *compiled) bool { return c.Rule == p.heir.Rule })
			if p.heir = nil; i >= 0 {
				p.heir = list[i]
			}
		}
	}
	w.read()
	return nil
}

// Run reads /proc until ctx is done.
func (w *Watcher) Run(ctx context.Context) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	defer w.moved.Store(0)
	for {
		w.moved.Store(time.Now().UnixNano())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.Read()
		}
	}
}

// Moved returns when Run has last read /proc, or has begun. It is zero unless Run runs. It never waits.
func (w *Watcher) Moved() time.Time {
	if at := w.moved.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// Read reads /proc now.
func (w *Watcher) Read() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read()
}

// Err returns why /proc could not be read the last time.
func (w *Watcher) Err() error { return w.found.Load().err }

// Targets returns the present targets, ordered by number. The caller must not change the list.
func (w *Watcher) Targets() []*Target { return w.found.Load().targets }

// Find returns the target with an identity; nil if there is none.
func (w *Watcher) Find(id string) *Target { return w.found.Load().byID[id] }

// read reads /proc. The lock is held.
func (w *Watcher) read() {
	defer w.publish()
	w.reading++
	list, err := procfs.List(w.list)
	if w.err = err; err != nil {
		return // the targets stay
	}
	w.list, w.now = list, uptime()
	for _, l := range list {
		w.meet(l)
	}
	for pid, p := range w.known {
		if p.round != w.reading {
			w.forget(pid)
		}
	}
}

// publish shows what has been found.
func (w *Watcher) publish() {
	f := &found{byID: make(map[string]*Target, len(w.byID)), err: w.err}
	for id, p := range w.byID {
		f.byID[id] = p.target
		f.targets = append(f.targets, p.target)
	}
	slices.SortFunc(f.targets, func(a, b *Target) int { return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Start, b.Start)) })
	w.found.Store(f)
}

// meet processes an entry of /proc. Parents are met before their children, unless numbers have wrapped around.
func (w *Watcher) meet(l procfs.Listed) {
	p := w.known[l.PID]
	if p != nil && p.inode == l.Inode {
		p.round = w.reading
		if !p.due && w.reading > p.young && (w.reading+l.PID)%oldEvery != 0 {
			return
		}
	}
	stat, err := procfs.ReadStat(l.PID)
	if procfs.Lacking(err) {
		if w.err = err; p != nil {
			p.round, p.due = w.reading, true // what is known of the process stays
		}
		return
	}
	if err != nil {
		w.forget(l.PID) // it has ended
		return
	}
	if stat.Kthread() || l.PID == os.Getpid() {
		w.known[l.PID] = &process{pid: l.PID, inode: l.Inode, round: w.reading}
		return
	}
	if p == nil || p.start != stat.StartTime {
		w.forget(l.PID)
		p = &process{pid: l.PID, start: stat.StartTime, due: true}
		if w.now < stat.StartTime+youngTicks {
			p.young = w.reading + youngFor
		}
		w.known[l.PID] = p
	}
	renamed := p.comm != stat.Comm
	p.inode, p.round, p.comm, p.parent = l.Inode, w.reading, stat.Comm, stat.PPID
	if stat.Ended() {
		w.drop(p)
		return
	}
	if p.due || renamed || w.reading <= p.young || p.executed() {
		p.due = false
		w.look(p)
	}
}

// look applies the rules. If descriptors are lacking, what was found before stays, and the next reading of /proc
// looks again.
func (w *Watcher) look(p *process) {
	known, rule := p.known, p.rule
	p.known.exe, p.known.cgroup, p.known.uid = nil, nil, nil // they are read again
	p.rule, p.lack = nil, nil
	for _, r := range w.rules {
		if r.matches(p) {
			p.rule = r
			break
		}
	}
	if parent := w.known[p.parent]; parent != nil && parent.rule != nil && parent.rule.Follow {
		p.heir = parent.rule // also when the parent has ended
	}
	if p.rule == nil {
		p.rule = p.heir
	}
	var target *Target
	if p.rule != nil {
		target = p.describe()
	}
	switch {
	case p.lack != nil:
		p.known, p.rule, p.due, w.err = known, rule, true, p.lack
	case target == nil:
		w.drop(p)
	default:
		p.target = target
		w.byID[target.ID()] = p
	}
}

// drop makes a process a target no more.
func (w *Watcher) drop(p *process) {
	if p.target != nil {
		delete(w.byID, p.target.ID())
		p.target, p.rule = nil, nil
	}
}

func (w *Watcher) forget(pid int) {
	if p := w.known[pid]; p != nil {
		w.drop(p)
		delete(w.known, pid)
	}
}
