package sample

import (
	"slices"

	"ptools/internal/source"
)

// roster is the sampled threads of a process.
type roster struct {
	p        *process
	threads  []*thread // by tid
	byTID    map[int]*thread
	gen      uint64
	made     uint64 // how often the list was made anew
	stale    bool   // threads must be matched with the controller's anew
	unread   unread
	unlooked []*thread // threads that no round has looked at, and some that a round has
	tids     []int
	works    map[int]bool // workers of the kernel among them, which are not controlled
}

// enroll updates the list of threads to that of the controller.
func (r *roster) enroll() {
	r.enrollAll()
	r.p.crowd.forget()
}

// enrollAll is enroll, but keeps the records of all threads that it has read at once, when they
// were listed.
func (r *roster) enrollAll() {
	gen := r.p.Control.Generation()
	if gen == r.gen && !r.stale {
		return
	}
	r.gen, r.stale = gen, false
	r.made++
	r.unread = unread{}
	r.tids = append(r.tids[:0], r.p.Control.Threads()...)
	r.addWorkers()
	slices.Sort(r.tids)
	old := r.threads
	if fresh := len(r.tids) - len(old); r.p.crowd.reads() {
		r.p.crowd.read(len(r.tids))
	} else {
		r.p.crowd.read(fresh)
	}
	r.threads = make([]*thread, 0, len(r.tids))
	for _, tid := range r.tids {
		for len(old) > 0 && (old[0].tid < tid || old[0].tid == tid && r.p.crowd.another(old[0])) {
			r.bury(old[0])
			old = old[1:]
		}
		if len(old) > 0 && old[0].tid == tid {
			r.threads = append(r.threads, old[0])
			old = old[1:]
		} else if t := r.meet(tid); t != nil {
			r.threads = append(r.threads, t)
		}
	}
	for _, t := range old {
		r.bury(t)
	}
}

// meet opens a new thread; nil if it has ended already.
func (r *roster) meet(tid int) *thread {
	var files source.TaskFiles
	var name string
	var born uint64
	if rec := r.p.crowd.record(tid); rec != nil {
		files, name, born = r.p.Unopened(tid), rec.Name(), rec.Start
	} else {
		var err error
		if files, err = r.p.Thread(tid); err != nil {
			r.cannotRead(err)
			return nil
		}
		stat, err := files.Stat()
		if err != nil {
			r.cannotRead(err)
			files.Close()
			return nil
		}
		name = stat.Comm
	}
	t := &thread{p: r.p, tid: tid, files: files, born: born, id: r.p.threadID(tid, name), works: r.works[tid]}
	r.p.sampler.profile.Rename(t.id, name) // the tid may have been that of another thread
	r.byTID[tid] = t
	r.unlooked = append(r.unlooked, t)
	t.place, t.moved = r.p.activity.recent.PushFront(t), r.p.activity.number
	if born != 0 {
		r.p.activity.rest(t) // the thread will be looked at with the others
	}
	r.p.activity.switches.known = false // the thread may have counted as an ended one
	return t
}

// bury forgets a thread that has ended.
func (r *roster) bury(t *thread) {
	r.p.settleThread(t)
	r.p.activity.recent.Remove(t.place)
	r.p.activity.switches.seen -= int64(t.usage.now.Slices)
	r.p.activity.switches.known = false // how often it was put on a processor in the end is not known
	t.files.Close()
	if r.byTID[t.tid] == t {
		delete(r.byTID, t.tid)
	}
}

// lose buries a thread that turned out to have ended. Its tid may already be
// another thread's, so the list is made anew at the next round.
func (r *roster) lose(t *thread) {
	t.turn.verdict = skipped
	r.stale = true
	if i := slices.Index(r.threads, t); i >= 0 {
		r.threads = slices.Delete(r.threads, i, i+1)
	}
	r.bury(t)
}

// exited records the end of a thread, whose number may come again.
func (r *roster) exited(tid int) {
	delete(r.p.ticking.strange, tid)
	t := r.byTID[tid]
	if t == nil || tid == r.p.PID {
		return
	}
	if f, ok := t.files.(interface{ Bound() bool }); ok && !f.Bound() {
		r.lose(t) // its files would be those of the next thread with that number
	}
}

// rename reads the names of all threads.
func (r *roster) rename() {
	for _, t := range r.threads {
		r.readName(t)
	}
}

func (r *roster) readName(t *thread) {
	if name, err := t.files.Comm(); err == nil {
		r.p.sampler.profile.Rename(t.id, name)
	}
}
