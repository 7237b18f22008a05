package sample

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ptools/internal/profile"
)

// TestQueue: names of a process are looked up by one goroutine at a time. Who gives up leaves nothing behind but one that is at a file.
func TestQueue(t *testing.T) {
	const pid = -1
	file := make(chan struct{})
	q := queueOf(pid)
	var first sync.WaitGroup
	first.Go(func() { q.do(nil, func() { <-file }) })
	for len(q.taken) == 0 {
		runtime.Gosched()
	}
	before := runtime.NumGoroutine()
	asked, over := atomic.Int32{}, atomic.Int32{}
	for range 100 {
		p := profile.New()
		space := p.Space(1, "", asker{&asked})
		space.Add(space.Cell(p.Thread(1, 1, ""), space.Stack([]profile.Addr{{PC: 1}})), profile.Values{Samples: 1})
		nameWithin(p, pid, time.Nanosecond, func() { over.Add(1) })
	}
	for over.Load() < 100 {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine() - before; n > 5 || asked.Load() > 0 {
		t.Errorf("%d goroutines are left behind, %d have looked something up", n, asked.Load())
	}
	close(file)
	first.Wait()
	q.leave()
	if len(queues.of) > 0 && queues.of[pid] != nil {
		t.Error("the queue is kept")
	}
}

// asker counts how often it is asked for a name before a profile is resolved.
type asker struct{ asked *atomic.Int32 }

func (a asker) Prepare(profile.Addr) { a.asked.Add(1) }

func (a asker) Resolve(_ profile.Addr, dst []profile.Frame) ([]profile.Frame, profile.Mapping) {
	return dst, profile.Mapping{}
}
