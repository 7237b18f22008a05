package sample

import (
	"math"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/source"
	"ptools/internal/unwind"
)

// timed is a process that has windows.
type timed struct {
	w     *Windows
	pid   int
	start uint64 // with pid its identity

	// These are under the lock of the Windows.
	users   int // windows that have not been left
	backlog backlog
	timedSpending

	// The rest belongs to the goroutine that works off the backlog.
	windows map[*Window]bool // that are not concluded
	profile *profile.Profile
	cost    Cost // since it was last added to that of the Windows

	// These belong to the present image. They are nil until the first tick.
	image   *heldImage
	space   *profile.Space
	namer   *namer
	refresh refreshing
	calls   map[uint64]int64 // system calls by the address behind the instruction
	err     error            // why there is no image
	former  []former         // parts of the profile that still lack names

	names map[int]profile.ThreadID
	workers
	execing execing
	tickStack
}

// timedSpending is the processor time of a process.
type timedSpending struct {
	cpu    time.Duration // since its start
	ticked time.Duration // by the ticks since cpu was read
	lost   timedLost
}

// newTimed begins to keep a process.
func newTimed(w *Windows, pid int, stat *procfs.Stat) *timed {
	return &timed{
		w: w, pid: pid, start: stat.StartTime, windows: make(map[*Window]bool), profile: profile.New(),
		calls: make(map[uint64]int64), names: make(map[int]profile.ThreadID), workers: make(workers),
		tickStack: tickStack{outlying: outlying{watch: w.ticks.Watch}},
	}
}

// mostAsked is how many threads are asked whether they run, before a tick says it.
const mostAsked = 64

// begin opens the image of a running process at once: the process may end before its ticks are read, and then its image is
// gone. For a process that does not run, nothing is opened before a tick meets it.
func (s *timed) begin() {
	tids, _ := procfs.Tasks(s.pid, nil) // without them it has ended
	for _, tid := range tids[:min(len(tids), mostAsked)] {
		if stat, err := procfs.ReadTaskStat(s.pid, tid); err == nil && stat.State == 'R' {
			s.current() // a tick will find the error
			return
		}
	}
}

// other reports whether the number is now that of another process, or of none. If there is no descriptor to find out,
// other reports false.
func (s *timed) other() bool {
	stat, err := procfs.ReadStat(s.pid)
	return s.isOther(&stat, err)
}

// isOther is other for what was read of the process's number.
func (s *timed) isOther(stat *procfs.Stat, err error) bool {
	if err != nil {
		return !procfs.Lacking(err)
	}
	return stat.StartTime != s.start
}

// take counts a tick. If the process ended before anything of it was opened, the tick counts without a stack.
func (s *timed) take(r *perfevent.Record) {
	have, other := s.current()
	if other {
		return
	}
	period := s.w.ticks.Period()
	s.cost.Ticks++
	if !have {
		return
	}
	switch {
	case r.Kind == perfevent.NoUser && s.workers.has(s.pid, r.TID):
		s.levels = append(s.levels[:0], s.profile.Note(kernelWorker))
	case r.Kind == perfevent.NoUser:
		s.levels = append(s.levels[:0], s.profile.Note("[exit]"))
	case s.execing.has(r):
		s.levels = append(s.levels[:0], s.profile.Note("[exec]"))
	case s.execing.gone(r, s.image):
		s.levels = append(s.levels[:0], profile.Addr{})
	default:
		var end unwind.End
		s.snap.Late = s.image.Stale()
		s.levels, end = unwindUser(&s.cost, r, &s.snap, s, s.levels[:0])
		s.outlying.learn(r.TID, s.snap.Needed)
		s.refresh.needed = s.refresh.needed || source.RanOut(end)
	}
	cell := s.space.Cell(s.thread(r.TID), s.space.Stack(s.levels))
	s.space.Add(cell, profile.Values{Samples: 1, CPU: int64(period)})
}

// takeExec takes note of an exec.
func (s *timed) takeExec(r *perfevent.Record) {
	clear(s.names)
	s.execing.note(r)
}

// takeMap takes over a mapping of code that the kernel has reported.
func (s *timed) takeMap(r *perfevent.Record) {
	m := &r.Mapped
	if s.execing.note(r); s.execing.before(r) {
		return // the image has it, or it is that of another program
	}
	if s.image != nil && !s.image.Stale() && s.image.Mapped(m) { // what comes behind an exec is in the next image
		clear(s.calls)
		s.refresh.needed = true // its object has more mappings
	}
}

// thread returns the entry of a thread in the profile.
func (s *timed) thread(tid int) profile.ThreadID {
	id, ok := s.names[tid]
	if !ok {
		name, err := procfs.ReadComm(s.pid, tid)
		if err != nil {
			name, _ = procfs.ReadComm(s.pid, s.pid) // it has ended; without a name the number is shown
		}
		id = s.profile.Thread(s.pid, tid, name)
		if err == nil {
			s.profile.Rename(id, name)
		}
		s.names[tid] = id
	}
	return id
}

// mostKept is how large the profile of a process becomes before a new one takes its place. So windows that always
// overlap do not make it grow without a bound.
const mostKept = 1 << 16

// settle does the work that need not be done for each tick. It reports whether there is more of it, for which it does not
// wait.
func (s *timed) settle() (more bool) {
	s.nameFormer()
	if s.image == nil {
		return len(s.former) > 0
	}
	if now := perfevent.Now(); s.namer.idle() {
		s.refresh.remap(mapped{s.image, s.space, s.namer}, s.refresh.needed && s.refresh.may(now), now)
	}
	if s.namer.step(s.space); s.profile.Size() > mostKept {
		s.renew()
	}
	return len(s.former) > 0 || !s.namer.idle() || s.space.Resolve(0) > 0 || s.refresh.needed || s.refresh.relearn
}

// renew begins a new profile. The present one ends with the windows that were opened in it.
func (s *timed) renew() {
	s.image.holds.Add(1)
	s.former = append(s.former, former{s.image, s.space, s.namer, false})
	s.profile = profile.New()
	clear(s.names)
	for n := range s.windows {
		n.marks = append(n.marks, s.profile.Mark())
	}
	s.open(s.image)
}

// readCPU reads the processor time of the process. If the process has ended, the ticks since the last reading are
// added. other is what the method of that name has reported: reading a file of /proc may take this goroutine its place on a processor
// for long, so that is done before the lock is taken. The lock of the Windows is held.
func (s *timed) readCPU(other bool) {
	if used, err := source.ProcessorTime(s.pid); err == nil && used >= s.cpu && !other {
		s.cpu = used
	} else {
		s.cpu += s.ticked
	}
	s.ticked = 0
	s.makeUp()
}

// reconcile stretches the processor time of a window to what the process has used, as spending.reconcile does for a run.
// Time that neither ticks, or stops, nor chance explain is counted under a name of its own.
func reconcile(p *profile.Profile, pid int, used, period time.Duration, most float64) {
	threads, counted := make(map[profile.ThreadID]bool), int64(0)
	for id, ns := range p.Counted(pid) {
		threads[id] = true
		counted += ns
	}
	p.CPU = used
	rest := int64(used)
	if counted > 0 {
		chance := 4*math.Sqrt(float64(counted)*float64(period)) + 4*float64(period)
		share := int64(min(float64(rest), most*float64(counted)+chance))
		p.Stretch(pid, threads, share)
		rest -= share
	}
	if rest > 0 {
		unsampled(p, p.Space(pid, "", nil), pid, rest)
	}
}

// Unwind implements tickImage.
func (s *timed) Unwind(snap *source.Capture, dst []profile.Addr) ([]profile.Addr, unwind.End) {
	return s.image.Unwind(snap, dst)
}

func (s *timed) note(nr int64) profile.Addr {
	return s.profile.Note("[" + procfs.SyscallName(nr) + "]")
}

// syscall implements tickImage.
func (s *timed) syscall(snap *source.Capture) int64 { return syscallBefore(s.image, s.calls, snap) }
