package sample

import (
	"math"
	"syscall"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
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

// former is a part of a process's profile to which nothing is added any more. Looking up its last names may take as
// long as reading the files of its program. The ticks that follow do not wait for that.
type former struct {
	image *heldImage
	space *profile.Space
	namer *namer
	gone  bool // the process has another image by now
}

// processorTimeOf returns what reads the processor time of the process that has a number now. Its number may become that of
// another one: then the error is ESRCH.
func processorTimeOf(pid int) func() (time.Duration, error) {
	begun, none := procfs.ReadStat(pid)
	return func() (time.Duration, error) {
		used, err := processorTime(pid)
		if err != nil {
			return 0, err
		}
		stat, err := procfs.ReadStat(pid) // after the time: the number was still the same process's then
		if err == nil && (none != nil || stat.StartTime != begun.StartTime) {
			err = syscall.ESRCH
		}
		return used, err
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
	if r.Kind == perfevent.NoUser {
		note := "[exit]"
		if s.workers.has(s.pid, r.TID) {
			note = kernelWorker
		}
		s.levels = append(s.levels[:0], s.profile.Note(note))
	} else {
		var end unwind.End
		s.snap.Late = s.image.Stale()
		s.levels, end = unwindUser(&s.cost, r, &s.snap, s, s.levels[:0])
		s.outlying.learn(r.TID, s.snap.Needed)
		s.refresh.needed = s.refresh.needed || ranOut(end)
	}
	cell := s.space.Cell(s.thread(r.TID), s.space.Stack(s.levels))
	s.space.Add(cell, profile.Values{Samples: 1, CPU: int64(period)})
}

// takeMap takes over a mapping of code that the kernel has reported.
func (s *timed) takeMap(m *perfevent.Mapped) {
	if s.image != nil && !s.image.Stale() && s.image.Mapped(m) { // what comes behind an exec is in the next image
		clear(s.calls)
		s.refresh.needed = true // its object has more mappings
	}
}

// current makes sure that the present image is open. It reports whether there is one, and whether the number is now that
// of another process. If the process has ended, its last image stays.
func (s *timed) current() (have, other bool) {
	if s.image != nil && !s.image.Stale() {
		return true, false
	}
	stat, err := procfs.ReadStat(s.pid)
	if err != nil {
		return s.image != nil, false
	}
	if stat.StartTime != s.start {
		return false, true
	}
	image, err := s.w.open(s.pid)
	if err != nil {
		if s.image == nil && !vanished(err) {
			s.err = err
		}
		return s.image != nil, false
	}
	s.leave()
	s.open(holdImage(image))
	return true, false
}

// open makes image the present one.
func (s *timed) open(image *heldImage) {
	s.image, s.err = image, nil
	s.space = s.profile.Space(s.pid, image.Executable(), image)
	s.namer = newNamer(image, queueOf(s.pid))
	s.refresh = refreshing{}
	clear(s.calls)
}

// mostFormer is how many parts of a profile may lack names. A process that executes programs a hundred times a
// second, while the symbols of the first are being read, has that many. If there are more, the names of the oldest
// are waited for.
const mostFormer = 100

// leave ends the use of the present image. Its part of the profile becomes a former one, until it has its names.
func (s *timed) leave() {
	if s.image == nil {
		return
	}
	s.former = append(s.former, former{s.image, s.space, s.namer, true})
	s.image = nil
	s.nameFormer()
}

// nameFormer releases the former parts of the profile that have all their names.
func (s *timed) nameFormer() {
	beyond := len(s.former) - mostFormer
	kept := s.former[:0]
	for i, f := range s.former {
		if i >= beyond && !f.namer.finished(f.space) {
			kept = append(kept, f)
			continue
		}
		f.namer.stop()
		f.space.ResolveAll()
		if f.gone {
			f.space.Retire()
		}
		f.image.release()
	}
	clear(s.former[len(kept):])
	s.former = kept
}

// close releases everything.
func (s *timed) close() {
	for _, f := range s.former {
		dismiss(f.image, f.namer)
	}
	s.former = nil
	if s.image != nil {
		dismiss(s.image, s.namer)
		s.image = nil
	}
}

// dismiss ends the namer of an image, which may be in the middle of reading a file, and then releases the image.
func dismiss(h *heldImage, n *namer) {
	n.stop()
	h.release()
}

// images returns the images that have the names of the profile. Each is held once more.
func (s *timed) images() []*heldImage {
	var list []*heldImage
	for _, f := range s.former {
		list = append(list, f.image)
	}
	if s.image != nil {
		list = append(list, s.image)
	}
	for _, h := range list {
		h.holds.Add(1)
	}
	return list
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
	if used, err := processorTime(s.pid); err == nil && used >= s.cpu && !other {
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
func (s *timed) Unwind(snap *Capture, dst []profile.Addr) ([]profile.Addr, unwind.End) {
	return s.image.Unwind(snap, dst)
}

func (s *timed) note(nr int64) profile.Addr {
	return s.profile.Note("[" + procfs.SyscallName(nr) + "]")
}

// syscall implements tickImage.
func (s *timed) syscall(snap *Capture) int64 { return syscallBefore(s.image, s.calls, snap) }
