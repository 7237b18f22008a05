package sample

import (
	"os"
	"testing"
	"time"

	"ptools/internal/perfevent"
)

// told are births that a test tells of.
type told struct {
	FollowingTicks
	records []perfevent.Record
	ends    []perfevent.End
}

func (b *told) tell(r perfevent.Record) {
	r.TID = r.PID
	b.records = append(b.records, r)
}

func (b *told) Read(f func(*perfevent.Record)) (lost int64) {
	for i := range b.records {
		f(&b.records[i])
	}
	b.records = nil
	return 0
}

func (b *told) ReadAll(f func(*perfevent.Record)) (lost int64) { return b.Read(f) }

func (b *told) Ends(f func(*perfevent.End)) {
	for i := range b.ends {
		f(&b.ends[i])
	}
	b.ends = nil
}

func (b *told) Period() time.Duration     { return DefaultPeriod }
func (b *told) Follows() perfevent.Follow { return perfevent.FollowAuto }
func (b *told) NoRoom() int64             { return 0 }
func (b *told) Drop(int)                  {}

// TestLateEnd: an end counts even if it is read long after it has come, because the sampler was given no processor.
func TestLateEnd(t *testing.T) {
	for _, finishes := range []bool{false, true} {
		b := new(told)
		s := New(nil, &Options{Follow: &Follow{Files: openFiles(t), Births: b}})
		now := perfevent.Now()
		parent, child := os.Getpid(), 1<<30 // no process has that number
		s.tree.start = now - time.Minute
		s.tree.add(parent, 0)
		b.tell(perfevent.Record{Kind: perfevent.Fork, PID: child, Parent: parent, Time: now - 4*time.Second})
		b.tell(perfevent.Record{Kind: perfevent.Exit, PID: child, Time: now - 3*time.Second})
		b.ends = []perfevent.End{{PID: child, TID: child, Start: now - 4*time.Second, CPU: 5 * time.Millisecond, Comm: "late", Last: true}}
		s.drain()
		if finishes {
			s.tree.finish()
		} else {
			time.Sleep(2 * othersEnd) // by then the threads that were ending with the last one have ended
			s.drain()
			s.tree.finish()
		}
		q := s.profile.Processes()[1]
		if q.CPU != 5*time.Millisecond || q.Command != "late" || q.Wall != time.Second {
			t.Errorf("finishes %v: %+v", finishes, q)
		}
	}
}

// TestEndsBeforeSampling: a process that ends while sampling begins is there once, and none of its time counts, whether it
// was found among the children or its records alone tell of it, and whenever these are read.
func TestEndsBeforeSampling(t *testing.T) {
	for _, found := range []bool{false, true} {
		b := new(told)
		s := New(nil, &Options{Follow: &Follow{Files: openFiles(t), Births: b}})
		now := perfevent.Now()
		parent, child := os.Getpid(), 1<<30
		s.tree.start = notBegun
		s.tree.add(parent, 0)
		if found {
			s.tree.add(child, parent).born = notBegun
		}
		s.tree.zero()
		b.tell(perfevent.Record{Kind: perfevent.Fork, PID: child, Parent: parent, Time: now - 4*time.Second})
		b.tell(perfevent.Record{Kind: perfevent.Exit, PID: child, Time: now - 3*time.Second})
		b.ends = []perfevent.End{{PID: child, TID: child, Start: now - 4*time.Second, CPU: time.Second, Comm: "early", Last: true}}
		s.drain()
		b.tell(perfevent.Record{Kind: perfevent.Fork, PID: child, Parent: parent, Time: perfevent.Now()}) // the number comes again
		s.drain()
		s.tree.finish()
		if got := s.profile.Processes(); len(got) != 3 || got[1].PID != child || got[1].CPU != 0 || got[1].Wall != 0 {
			t.Errorf("found %v: %+v", found, got)
		}
		if n := s.cost.Followed; n.Processes != 3 || n.Stray != 0 || n.Unsure != 0 {
			t.Errorf("found %v: %+v", found, n)
		}
	}
}
