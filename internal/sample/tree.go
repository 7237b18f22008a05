package sample

import (
	"math"
	"slices"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/source"
)

// A tree is the sources of a sampler and all their descendants, the future ones too. Nothing is attached to them.
//
// The kernel decides which processes ticks meet: a child is put into the filter before it runs (perfevent.Follow).
// Records report births, names, programs, mappings and ends. So the ticks of a process that has ended are as good as
// those of a living one. Stacks of all such processes are in one space, where each file has one place (treemap.go).
//
// A process that lives for some rounds is looked at in rounds like any other, to see what it waits for. It gets files and
// a space of its own, which are released when it ends or executes another program. The time for that is bounded, and so
// is the number of such processes. The wall time of other processes is [not sampled].

// Follow says how descendants are sampled. The sources must be added to Ticks before sampling begins.
type Follow struct {
	// Source returns a descendant as a source for rounds, nil if it cannot be looked at, or not yet. done is closed when it has
	// ended.
	Source func(pid int, done <-chan struct{}) *source.Process
	Files  *source.Files
	Lines  bool
	// Births reports descendants where there are no timers; nil: Options.Ticks does.
	Births FollowingTicks
}

// FollowingTicks are Ticks that follow descendants; *perfevent.Ticker implements it.
type FollowingTicks interface {
	Ticks
	// Follows returns how descendants are followed.
	Follows() perfevent.Follow
	// Ends calls f for each thread that has ended since the last call.
	Ends(f func(*perfevent.End))
	// NoRoom returns how many children could not be followed.
	NoRoom() int64
	// Want and Drop put a process into the filter and take it out.
	Want(pid int) error
	Drop(pid int)
}

// Followed counts what has become of the descendants.
type Followed struct {
	Processes int64 // that were followed, sources included
	Unlooked  int64 // those of Processes that were never looked at for want of room
	Refused   int64 // those of Processes that may not be read
	NoRoom    int64 // children that were not followed because there were too many at the same time
	Unread    int64 // files that were gone when a sample needed them
	Unsure    int64 // processes whose processor time is that of their samples
	Stray     int64 // those of Processes of which only the end was reported
}

type tree struct {
	sampler  *Sampler
	ticks    FollowingTicks
	births   FollowingTicks // nil: there are timers
	living   map[int]*kin
	dead     map[int][]*kin // ended processes whose processor time is not final
	ends     []unclaimed    // ends of processes whose birth was not read yet
	strays   strays
	start    time.Duration // CLOCK_MONOTONIC; notBegun: first readings are still to be taken
	sweeps   sweeps
	looked   int           // processes
	alone    time.Duration // when the sources ended; -1: that was reported
	opens    budget
	closers  chan struct{} // has a place for each image that is being closed
	files    *treeFiles
	space    *profile.Space
	names    treeNames
	pace     *pace
	unwinder kinUnwinder
	owed     owed
	lives    map[profile.ProcessID]life
}

// life is what is known of a process to the end of the sampling.
type life struct {
	source     bool
	born, died time.Duration // CLOCK_MONOTONIC; since when and until when it was sampled
}

// notBegun is later than all records.
const notBegun time.Duration = math.MaxInt64

// unclaimed is the end of a thread, and when it was read.
type unclaimed struct {
	perfevent.End
	at time.Duration
}

// owed is time that is not yet enough for a sample.
type owed struct{ ticks, rest time.Duration }

// take adds a time and returns how many samples it makes.
func take(of *time.Duration, d, period time.Duration) int64 {
	*of += d
	n := int64(*of / period)
	*of -= time.Duration(n) * period
	return n
}

// takeRecord takes one record.
func (t *tree) takeRecord(r *perfevent.Record) {
	k := t.living[r.PID]
	if r.Kind == perfevent.Fork && r.PID != r.Parent {
		parent := t.living[r.Parent]
		switch {
		case parent == nil, k != nil && (k.source || r.Time <= k.born): // begin has found it
			return
		case k == nil && r.Time <= t.start && t.strays.early[r.PID]: // begin had found it
			delete(t.strays.early, r.PID)
			return
		case k != nil:
			t.died(k, r.Time) // the record of its end was lost: its number is that of another process
		}
		t.birth(parent, r)
		return
	}
	if k != nil {
		k.takeRecord(r)
	}
}

// birth adds a child.
func (t *tree) birth(parent *kin, r *perfevent.Record) {
	if t.ticks.Follows() == perfevent.FollowRecords {
		if t.ticks.Want(r.PID) != nil {
			t.sampler.cost.Followed.Unsure++
		}
	}
	k := t.add(r.PID, parent.pid)
	k.comm, k.threads, k.known, k.born = parent.comm, map[int]bool{r.PID: true}, 1, r.Time
	k.maps = parent.maps.copyOf()
}

// died records the end of the last thread of a process.
func (t *tree) died(k *kin, at time.Duration) {
	if k.died != 0 {
		return
	}
	if k.died = at; at <= t.start && !k.source { // before sampling began: none of its time counts
		k.born, k.used, k.before, k.ticked, k.final = min(k.born, at), 0, 0, 0, true
	} else if t.ticks.Follows() == perfevent.FollowRecords {
		if used, err := source.ProcessorTime(k.pid); err == nil { // its parent has not waited for it yet
			k.used, k.final = used, true
		}
	}
	if t.ticks.Follows() == perfevent.FollowRecords {
		t.ticks.Drop(k.pid)
	}
	t.unlook(k)
	delete(t.living, k.pid)
	if k.final || t.ticks.Follows() == perfevent.FollowRecords {
		t.bury(k)
		return
	}
	t.dead[k.pid] = append(t.dead[k.pid], k)
}

// settleEnds takes over the processor time of processes that have ended.
func (t *tree) settleEnds() {
	now := perfevent.Now()
	t.ticks.Ends(func(e *perfevent.End) { t.ends = append(t.ends, unclaimed{*e, now}) })
	t.ends = slices.DeleteFunc(t.ends, func(e unclaimed) bool {
		if t.ended(&e) {
			return true
		}
		late := now-e.at > longestUnread
		if late {
			t.strays.add(&e)
		}
		return late
	})
	t.countStrays(false)
	for pid, list := range t.dead {
		list = slices.DeleteFunc(list, func(k *kin) bool {
			k.final = k.last != 0 && (k.told >= k.known || now-k.last > othersEnd)
			over := k.final || k.last == 0 && now-k.died > longestUnread // the record of its end was lost
			if over {
				t.bury(k)
			}
			return over
		})
		if t.dead[pid] = list; len(list) == 0 {
			delete(t.dead, pid)
		}
	}
	t.sweep()
}

const (
	// longestUnread is the time after which a record that has not come will not come.
	longestUnread = 2 * time.Second
	// othersEnd is the time in which the threads that were ending with the last one have ended. One of them may have to
	// release much memory.
	othersEnd = longestUnread
)

// ended takes the end of a thread. It reports false if the birth of its process was not read yet.
func (t *tree) ended(e *unclaimed) bool {
	k := t.living[e.PID]
	for _, other := range t.dead[e.PID] {
		// A process is made right before the record of its birth.
		if other.born >= e.Start && (k == nil || other.born < k.born) {
			k = other
			break
		}
	}
	if k == nil || k.born < e.Start {
		return false
	}
	k.used += e.CPU
	k.told++
	if e.Last {
		k.last, k.comm = e.at, e.Comm // the records with its name may be lost
	}
	return true
}

// bury counts what a process has used that is no longer looked at.
func (t *tree) bury(k *kin) {
	now := perfevent.Now()
	wall := k.life(now)
	if k.proc == nil {
		k.skip(k.born + wall)
		t.rest(k, wall-k.shown)
	}
	t.strays.bury(k.pid, k.born, now)
	t.makeUp(k)
	cpu := k.cpu()
	if k.told == 1 {
		wall = max(wall, cpu) // the kernel's record of an end is older than the last of the thread's processor time
	}
	if !k.final && k.died != 0 {
		t.sampler.cost.Followed.Unsure++
	}
	t.sampler.profile.SetProcess(k.id, k.comm, cpu, wall)
	t.lives[k.id] = life{k.source, k.born, k.born + wall}
}

// rest counts the wall time of a process that neither ticks nor rounds have seen.
func (t *tree) rest(k *kin, wall time.Duration) {
	if wall <= 0 {
		return
	}
	s := t.sampler
	n := take(&t.owed.rest, wall, s.opt.Period)
	stack := t.space.Push(0, s.unsampled())
	t.space.Add(t.space.Cell(k.threadID(k.pid), stack), profile.Values{Samples: n, Wall: int64(wall)})
	s.cost.Samples += n
}

// unsampled returns the level for time that was not sampled.
func (s *Sampler) unsampled() profile.Addr { return s.profile.Note("[not sampled]") }

// take counts a tick of a process that is not looked at.
func (t *tree) take(k *kin, r *perfevent.Record) {
	s := t.sampler
	s.cost.Ticks++
	period := t.ticks.Period()
	levels := t.unwinder.levels[:0]
	if r.Kind == perfevent.NoUser {
		if k.workers == nil {
			k.workers = make(workers)
		}
		levels = s.kernelLevels(r, levels, k.workers.has(k.pid, r.TID))
	} else if k.execing.has(r) {
		levels = s.notedLevels(r, levels, s.exec)
	} else {
		t.unwinder.kin = k
		levels, _ = s.unwindTick(r, &t.unwinder.snap, &t.unwinder, levels)
		t.unwinder.outlying.learn(r.TID, t.unwinder.snap.Needed)
	}
	t.unwinder.levels = levels
	k.shown += period
	k.tick(r.TID, t.space.Stack(levels), profile.Values{
		Samples: take(&t.owed.ticks, period, s.opt.Period), CPU: int64(period), Wall: int64(period),
	}, r.Time)
}

// alive reports whether any process is left.
func (t *tree) alive() bool {
	return len(t.living) > 0 // a source has ended when its record says so: then all births before that have been read
}
