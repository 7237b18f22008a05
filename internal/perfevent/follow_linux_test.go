package perfevent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// births has the results of a run of the target. If other programs make processes meanwhile, two children may have had
// the same number. Their values are added.
type births struct {
	ticks map[int]int           // by process
	cpu   map[int]time.Duration // by process, from wait4
	ends  map[int]time.Duration // by process, from the BPF program
	lines int                   // children that the target has printed
	ended int                   // children whose last thread has ended
	execs int
	maps  int
}

// follow runs the target, and reads the records every 10 ms.
func follow(t *testing.T, how Follow, children, micros int) *births {
	period := time.Millisecond * ptest.Slow()
	c := openTicker(t, TickerOptions{Period: period, Stack: 4096, Follow: how})
	if c.Follows() != how {
		t.Skipf("children are followed by %v", c.Follows())
	}
	g := ptest.Start(t, ptest.BuildC(t, "family.c"), "-n", fmt.Sprint(children), "-u", fmt.Sprint(micros))
	g.Ready()
	want(t, c, g.PID)
	f := &births{ticks: map[int]int{}, cpu: map[int]time.Duration{}, ends: map[int]time.Duration{}}
	kin := map[int]bool{g.PID: true}
	take := func(r *Record) {
		switch {
		case r.Kind == Fork && r.PID != r.Parent && kin[r.Parent]:
			kin[r.PID] = true
			if how == FollowRecords {
				c.Want(r.PID) // it may have ended
			}
		case r.Kind == Tick && r.PID == math.MaxUint32: // a thread that ends, and has been waited for
		case !kin[r.PID] && r.Kind != Fork && r.Kind != Map && r.Kind != Exec && r.Kind != Name && r.Kind != Exit:
			t.Errorf("%v of process %d, which is none of the family", r.Kind, r.PID)
		case r.Kind == Tick || r.Kind == NoUser:
			f.ticks[r.PID]++
		case kin[r.PID] && r.PID != g.PID && r.Kind == Exec:
			f.execs++
		case kin[r.PID] && r.PID != g.PID && r.Kind == Map && strings.HasSuffix(r.Mapped.Path, "family"):
			f.maps++
		}
	}
	g.Stdin.Write([]byte("\n"))
	var lines []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			line := g.Line()
			lines = append(lines, line)
			if strings.HasPrefix(line, "done") {
				return
			}
		}
	}()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		case <-time.After(10 * time.Millisecond):
		}
		c.Redraw(rand.Int64N)
		c.Read(take)
	}
	for _, line := range lines {
		var pid int
		var ns int64
		var name string
		if n, _ := fmt.Sscanf(line, "child %d %s %d", &pid, &name, &ns); n == 3 {
			f.cpu[pid] += time.Duration(ns)
			f.lines++
		}
	}
	for deadline := time.Now().Add(10 * time.Second); f.ended < children && how == FollowAuto; time.Sleep(10 * time.Millisecond) {
		c.Ends(func(e *End) {
			f.ends[e.PID] += e.CPU
			if e.Last {
				f.ended++
			}
		})
		if time.Now().After(deadline) {
			for pid := range f.cpu {
				if _, ok := f.ends[pid]; !ok {
					t.Logf("process %d has no end, %d ticks", pid, f.ticks[pid])
				}
			}
			t.Fatalf("%d ends of %d, %d lost", f.ended, children, c.filter.follower.word(wordLostEnds))
		}
	}
	c.ReadAll(take)
	if c.NoRoom() != 0 {
		t.Errorf("no room for %d", c.NoRoom())
	}
	return f
}

// sum returns the sums over all children: their ticks, and the processor time by wait4 and by the BPF program.
func (f *births) sum() (ticks int, used, told time.Duration) {
	for pid, ns := range f.cpu {
		ticks += f.ticks[pid]
		used += ns
		told += f.ends[pid]
	}
	return ticks, used, told
}

// TestFollow: children that live 3 ms and are followed in the kernel are sampled from their first instruction on. Their
// processor time is that of wait4(2). A reader that puts them into the table when it reads of their birth would be too
// late for most of it.
func TestFollow(t *testing.T) {
	const children, micros = 300, 3000
	f := follow(t, FollowAuto, children, micros*int(ptest.Slow()))
	ticks, used, told := f.sum()
	t.Logf("%d children: %d samples of a millisecond, wait4 %v, ends %v, %d execs, %d mappings of the program", f.lines, ticks, used, told, f.execs, f.maps)
	if f.lines != children || f.execs != children/2 || f.maps < children/2 {
		t.Errorf("%d children, %d execs, %d mappings", f.lines, f.execs, f.maps)
	}
	least := 0.8
	if ptest.Slow() > 1 {
		least = 0.5 // a host that takes the processor away takes interrupts of timers with it, and not processor time
	}
	// 0.98 to 1.03 at rest, 1.02 to 1.10 where others keep the processors busy, whether children live 1 ms or 30, and 1.25 once. Why
	// there are more samples then is not known; a process that is sampled twice would have 2.
	if share := float64(ticks) * float64(time.Millisecond*ptest.Slow()) / float64(used); share < least || share > 1.5 {
		t.Errorf("samples show %.2f of the processor time", share)
	}
	if off := float64(told)/float64(used) - 1; off < -0.005 || off > 0.02 {
		t.Errorf("processor time is off by %.2f %%", 100*off)
	}
	for pid, ns := range f.cpu {
		if off := f.ends[pid] - ns; off < -100*time.Microsecond*ptest.Slow() || off > 500*time.Microsecond*ptest.Slow()*ptest.Slow() {
			t.Errorf("process %d: %v, wait4 says %v", pid, f.ends[pid], ns)
		}
	}
}

// TestFollowRecords: how much is sampled of children that are followed by records.
func TestFollowRecords(t *testing.T) {
	f := follow(t, FollowRecords, 40, 30_000*int(ptest.Slow()))
	ticks, used, _ := f.sum()
	share := float64(ticks) * float64(time.Millisecond*ptest.Slow()) / float64(used)
	t.Logf("%d children of 30 ms: samples show %.2f of the processor time", f.lines, share)
	if share < 0.3 || share > 1.1 { // more on a busy machine, where the children live longer
		t.Errorf("samples show %.2f of the processor time", share)
	}
}
