package sample

import (
	"os"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/source"
)

// TestLateEnd: an end counts even if it is read long after it has come, because the sampler was given no processor.
func TestLateEnd(t *testing.T) {
	for _, finishes := range []bool{false, true} {
		b := NewBirths(0, source.NewFiles(), false)
		s := New(nil, &Options{Follow: &Follow{Files: b.files, Births: b}})
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
		b.files.Close()
	}
}

// TestEndsBeforeSampling: a process that ends while sampling begins is there once, and none of its time counts, whether it
// was found among the children or its records alone tell of it, and whenever these are read.
func TestEndsBeforeSampling(t *testing.T) {
	for _, found := range []bool{false, true} {
		b := NewBirths(0, source.NewFiles(), false)
		s := New(nil, &Options{Follow: &Follow{Files: b.files, Births: b}})
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
		b.files.Close()
	}
}
