package sample

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/source"
)

// tick is the period of the timers of followed.
const tick = 2 * time.Millisecond

// followed samples a target and its descendants until all have ended. It calls begun before it begins.
func followed(t *testing.T, how perfevent.Follow, g *ptest.Target, begun func()) *Sampler {
	t.Helper()
	return followedBy(t, following(t, how, g), g, begun)
}

// following returns timers that follow a target.
func following(t *testing.T, how perfevent.Follow, g *ptest.Target) *perfevent.Ticker {
	t.Helper()
	ticker, err := perfevent.OpenTicker(perfevent.TickerOptions{Period: tick, Stack: 16 << 10, Follow: how})
	if err != nil {
		t.Skip(err) // needs root
	}
	t.Cleanup(func() { ticker.Close() })
	if ticker.Follows() != how {
		t.Skip("the kernel does not follow")
	}
	if err := ticker.Want(g.PID); err != nil {
		t.Fatal(err)
	}
	return ticker
}

// followedBy is followed with timers that want the target.
func followedBy(t *testing.T, ticks FollowingTicks, g *ptest.Target, begun func()) *Sampler {
	t.Helper()
	files, done := openFiles(t), make(chan struct{})
	go func() { // ends with the target
		defer close(done)
		if p, err := procfs.OpenPIDFD(g.PID); err == nil {
			p.Wait(context.Background())
			p.Close()
		}
	}()
	s := New([]*source.Process{source.Watch(g.PID, done, files, false)}, &Options{
		Period: 10 * time.Millisecond, Ticks: ticks,
		Follow: &Follow{Files: files, Source: func(pid int, done <-chan struct{}) *source.Process { return source.Watch(pid, done, files, false) }},
		Begun:  func(context.Context) error { begun(); return nil },
	})
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// relatives is what a family prints about its children: their number, their processor time by wait4, and by their own
// account the part of it in the function with their name.
type relatives struct {
	count   map[string]int64
	cpu, in map[string]time.Duration
	each    map[int]time.Duration // cpu, by number
	names   map[int]string
}

// relate reads what a family prints.
func relate(g *ptest.Target) relatives {
	r := relatives{map[string]int64{}, map[string]time.Duration{}, map[string]time.Duration{}, map[int]time.Duration{}, map[int]string{}}
	for line := range strings.Lines(g.Output()) {
		var pid int
		var name string
		var ns int64
		if n, _ := fmt.Sscanf(line, "child %d %s %d", &pid, &name, &ns); n == 3 {
			r.count[name]++
			r.cpu[name] += time.Duration(ns)
			r.each[pid], r.names[pid] = time.Duration(ns), name
		}
		if n, _ := fmt.Sscanf(line, "in %s %d", &name, &ns); n == 2 {
			r.in[name] += time.Duration(ns)
		}
	}
	return r
}

// commands are the commands of a tree by name.
func commands(p *profile.Profile) map[string]profile.Command {
	byName := make(map[string]profile.Command)
	for _, c := range p.Commands() {
		byName[c.Name] = c
	}
	return byName
}

// underRoot returns the processor time of stacks that have a function, below each root.
func underRoot(t *testing.T, p *profile.Profile, by profile.By, function string) (with, all map[string]int64) {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b, profile.Folded, &profile.Options{Value: profile.CPU, By: by}); err != nil {
		t.Fatal(err)
	}
	with, all = make(map[string]int64), make(map[string]int64)
	for line := range strings.Lines(b.String()) {
		i := strings.LastIndexByte(line, ' ')
		var n int64
		fmt.Sscan(line[i:], &n)
		root, rest, _ := strings.Cut(line[:i], ";")
		all[root] += n
		if strings.Contains(";"+rest+";", ";"+function+";") {
			with[root] += n
		}
	}
	return with, all
}

// TestFollow: children that live for five milliseconds, half of which execute another program, are all there. Each
// command has its processor time by wait4, and its functions.
func TestFollow(t *testing.T) {
	t.Parallel()
	const children = 200
	g := ptest.Start(t, ptest.BuildC(t, "family.c"), "-n", fmt.Sprint(children), "-u", "5000")
	g.Ready()
	var begun time.Time
	s := followed(t, perfevent.FollowAuto, g, func() {
		begun = time.Now()
		g.Stdin.Write([]byte("\n"))
	})
	took := time.Since(begun)
	truth, p := relate(g), s.Profile()
	if n := s.Cost().Followed.Processes; n != children+1 {
		t.Errorf("%d processes", n)
	}
	got := commands(p)
	for _, name := range []string{"young", "grown"} {
		c := got[name]
		with, all := underRoot(t, p, profile.ByCommand, name)
		off, share := float64(c.CPU)/float64(truth.cpu[name])-1, float64(with[name])/float64(all[name])
		in := float64(truth.in[name]) / float64(truth.cpu[name])
		t.Logf("%s: %d processes, %v, wait4 %v (%+.2f %%), wall %v, %.1f %% in %s(), it says %.1f %%",
			name, c.Processes, c.CPU, truth.cpu[name], 100*off, c.Wall, 100*share, name, 100*in)
		if c.Processes != truth.count[name] || off < -0.02 || off > 0.02 {
			t.Errorf("%s: wrong", name)
		}
		// Five standard deviations of the ticks, and the time of starting a program that no tick sees, because interrupts
		// are off.
		if bound := 5*math.Sqrt(in*(1-in)/float64(truth.cpu[name]/tick)) + 0.03; math.Abs(share-in) > bound {
			t.Errorf("%s: share of the function %.3f, it says %.3f (bound %.3f)", name, share, in, bound)
		}
		if sum := time.Duration(all[name]); sum < c.CPU*98/100 || sum > c.CPU*102/100 {
			t.Errorf("%s: stacks have %v of %v", name, sum, c.CPU)
		}
		// The children follow one another.
		if c.Wall < c.CPU || c.Wall > took {
			t.Errorf("%s: wall time %v of %v", name, c.Wall, took)
		}
	}
	_, all := underRoot(t, p, profile.ByProcess, "main")
	if len(all) < children/2 {
		t.Errorf("%d processes at the roots of stacks", len(all))
	}
	with, _ := underRoot(t, p, profile.ByNone, "main")
	if len(with) > 3 {
		t.Errorf("roots %v", with)
	}
	t.Log(s.Cost())
}

// TestFollowEndsTogether: threads that end at the same time all count, whichever is the last. One of them releases much
// memory.
func TestFollowEndsTogether(t *testing.T) {
	g := ptest.Start(t, "sh", "-c", `read x; for i in 1 2 3 4 5 6 7 8 9 10; do "$0"; done`, ptest.BuildC(t, "endtogether.c"))
	s := followed(t, perfevent.FollowAuto, g, func() { g.Stdin.Write([]byte("\n")) })
	_, state := g.Finish()
	used, all := state.UserTime()+state.SystemTime(), time.Duration(0)
	for _, c := range commands(s.Profile()) { // a program that is being started is still sh
		all += c.CPU
	}
	got := commands(s.Profile())["endtogether"]
	if got.Processes != 10 || (used-all).Abs() > used/20 || got.CPU < used/2 {
		t.Errorf("%+v, all %v; wait4 says %v", got, all, used)
	}
}

// earlyEnd are timers that report a thread that ended while sampling began.
type earlyEnd struct {
	*perfevent.Ticker
	pid int
}

func (c *earlyEnd) Read(f func(*perfevent.Record)) (lost int64) {
	if c.pid != 0 {
		f(&perfevent.Record{Kind: perfevent.Exit, PID: c.pid, TID: math.MaxInt32, Time: perfevent.Now()})
		c.pid = 0
	}
	return c.Ticker.Read(f)
}

// TestFollowLeaderDead: a process lives as long as one of its threads does, whichever threads have ended before or while
// sampling began. It has all its processor time by the kernel's account.
func TestFollowLeaderDead(t *testing.T) {
	t.Parallel()
	for how, name := range map[perfevent.Follow]string{perfevent.FollowAuto: "auto", perfevent.FollowRecords: "records"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := ptest.Start(t, ptest.BuildC(t, "leaderdead.c"))
			g.Ready()
			var before time.Duration
			var used atomic.Int64
			s := followedBy(t, &earlyEnd{following(t, how, g), g.PID}, g, func() {
				before, _ = source.ProcessorTime(g.PID)
				time.AfterFunc(2500*time.Millisecond, func() { // it is compared with /proc once a second
					now, _ := source.ProcessorTime(g.PID)
					used.Store(int64(now))
					g.Stdin.Close()
				})
			})
			if n := s.Cost().Followed; n.Processes != 1 || n.Unsure != 0 {
				t.Errorf("%+v", n)
			}
			if got := commands(s.Profile())["leaderdead"]; used.Load() == 0 || got.CPU < time.Duration(used.Load())-before {
				t.Errorf("%+v, and the kernel says %v", got, time.Duration(used.Load())-before)
			}
		})
	}
}

// lateEnds are timers that report ends of threads half a second late.
type lateEnds struct {
	*perfevent.Ticker
	held []unclaimed
}

func (c *lateEnds) Ends(f func(*perfevent.End)) {
	now := perfevent.Now()
	c.Ticker.Ends(func(e *perfevent.End) { c.held = append(c.held, unclaimed{*e, now}) })
	c.held = slices.DeleteFunc(c.held, func(e unclaimed) bool {
		if now-e.at < time.Second/2 {
			return false
		}
		f(&e.End)
		return true
	})
}

// TestFollowLateEnd: processes have their processor time by the kernel's account also if their last thread waited for a
// processor after its record of the end.
func TestFollowLateEnd(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, "sh", "-c", `read x; "$0" -n 1000`, ptest.BuildC(t, "leaderdead.c"))
	s := followedBy(t, &lateEnds{Ticker: following(t, perfevent.FollowAuto, g)}, g, func() { g.Stdin.Write([]byte("\n")) })
	if n := s.Cost().Followed; n.Processes != 2 || n.Unsure != 0 {
		t.Errorf("%+v", n)
	}
}

// forgetful are timers that lose two of five records of births, ends, programs and names.
type forgetful struct {
	*perfevent.Ticker
	n int
}

func (c *forgetful) keep(f func(*perfevent.Record)) (kept func(*perfevent.Record), lost *int64) {
	lost = new(int64)
	return func(r *perfevent.Record) {
		switch r.Kind {
		case perfevent.Fork, perfevent.Exit, perfevent.Exec, perfevent.Name:
			if c.n++; c.n%5 < 2 {
				*lost++
				return
			}
		}
		f(r)
	}, lost
}

func (c *forgetful) Read(f func(*perfevent.Record)) int64 {
	kept, lost := c.keep(f)
	return c.Ticker.Read(kept) + *lost
}

func (c *forgetful) ReadAll(f func(*perfevent.Record)) int64 {
	kept, lost := c.keep(f)
	return c.Ticker.ReadAll(kept) + *lost
}

// TestFollowLost: if the buffer has no room for records, all processes are counted nevertheless, by their last names and
// with their processor time.
func TestFollowLost(t *testing.T) {
	t.Parallel()
	const children = 300
	g := ptest.Start(t, ptest.BuildC(t, "family.c"), "-n", fmt.Sprint(children), "-u", "1000")
	g.Ready()
	ticks := &forgetful{Ticker: following(t, perfevent.FollowAuto, g)}
	s := followedBy(t, ticks, g, func() { g.Stdin.Write([]byte("\n")) })
	truth, got := relate(g), commands(s.Profile())
	t.Log(s.Cost())
	for _, name := range []string{"young", "grown"} {
		c := got[name]
		if off := float64(c.CPU)/float64(truth.cpu[name]) - 1; c.Processes != truth.count[name] || math.Abs(off) > 0.02 {
			t.Errorf("%s: %d processes of %d, %v, wait4 %v", name, c.Processes, truth.count[name], c.CPU, truth.cpu[name])
		}
	}
	if f := s.Cost().Followed; f.Processes != children+1 || f.Stray < children/5 {
		t.Errorf("%+v", f)
	}
	if tr := s.tree; len(tr.living) > 1 || len(tr.dead) > 0 || len(tr.strays.waiting) > 0 {
		t.Errorf("left: %d living, %d dead, %d strays", len(tr.living), len(tr.dead), len(tr.strays.waiting))
	}
}

// tardy are timers that note how long after a birth its process is wanted.
type tardy struct {
	*perfevent.Ticker
	born map[int]time.Duration
	late map[int]time.Duration
}

func (c *tardy) note(f func(*perfevent.Record)) func(*perfevent.Record) {
	return func(r *perfevent.Record) {
		if r.Kind == perfevent.Fork && r.PID == r.TID {
			c.born[r.PID] = r.Time
		}
		f(r)
	}
}

func (c *tardy) Read(f func(*perfevent.Record)) int64 { return c.Ticker.Read(c.note(f)) }

func (c *tardy) ReadAll(f func(*perfevent.Record)) int64 { return c.Ticker.ReadAll(c.note(f)) }

func (c *tardy) Want(pid int) error {
	err := c.Ticker.Want(pid)
	if born, ok := c.born[pid]; ok && err == nil {
		c.late[pid] = perfevent.Now() - born
		delete(c.born, pid)
	}
	return err
}

// TestFollowByRecords: without the kernel's help the processes are all there. Only samples from before their births were
// read are missing.
func TestFollowByRecords(t *testing.T) {
	t.Parallel()
	const children = 20
	g := ptest.Start(t, ptest.BuildC(t, "family.c"), "-n", fmt.Sprint(children), "-u", "30000")
	g.Ready()
	ticks := &tardy{following(t, perfevent.FollowRecords, g), map[int]time.Duration{}, map[int]time.Duration{}}
	s := followedBy(t, ticks, g, func() { g.Stdin.Write([]byte("\n")) })
	truth, got := relate(g), commands(s.Profile())
	late := make(map[string]time.Duration)
	for pid, cpu := range truth.each {
		// A process that was never wanted has no samples; one that was wanted may have slept meanwhile.
		if d, ok := ticks.late[pid]; ok {
			cpu = min(cpu, d)
		}
		late[truth.names[pid]] += cpu
	}
	t.Log(late)
	for _, name := range []string{"young", "grown"} {
		c, most := got[name], truth.cpu[name]
		if least := most - late[name] - most/10; c.Processes != truth.count[name] || c.CPU < least || c.CPU > most*11/10 {
			t.Errorf("%s: %+v, want %d processes and %v to %v", name, c, truth.count[name], least, most)
		}
	}
	if !strings.Contains(s.Cost().String(), " whose processor time is that of their samples") {
		t.Error(s.Cost())
	}
}

// TestFollowOrphans: processes whose parent has ended before they work are followed.
func TestFollowOrphans(t *testing.T) {
	t.Parallel()
	const children = 60
	g := ptest.Start(t, ptest.BuildC(t, "family.c"), "-n", fmt.Sprint(children), "-u", "10000", "-d", "1")
	g.Ready()
	s := followed(t, perfevent.FollowAuto, g, func() { g.Stdin.Write([]byte("\n")) })
	g.Output()
	got := commands(s.Profile())
	for _, name := range []string{"young", "grown"} {
		if c := got[name]; c.Processes != children/2 || c.CPU < children/2*10*time.Millisecond || c.CPU > children/2*16*time.Millisecond {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if n := s.Cost().Followed.Processes; n != 2*children+1 {
		t.Errorf("%d processes", n)
	}
}

// TestFollowExisting: descendants that exist when sampling begins are followed, with their processor time from then on,
// and what they wait for.
func TestFollowExisting(t *testing.T) {
	t.Parallel()
	mix := ptest.BuildC(t, "mix.c")
	g := ptest.Start(t, "sh", "-c", `exec 3<&0; "$0" <&3 >/dev/null & echo $!; (cat <&3; true) & wait`, mix)
	var pid int
	fmt.Sscan(g.Line(), &pid)
	work := uint64(ptest.Rounds(300, 1000, 1000)) * 1e6 // ns
	s := followed(t, perfevent.FollowAuto, g, func() {
		begun := schedstat(t, pid).Run
		go func() { // ends with the target, or when mix has worked for a while
			defer g.Stdin.Close()
			for now, err := procfs.ReadTaskSchedStat(pid, pid); err == nil && now.Run < begun+work; now, err = procfs.ReadTaskSchedStat(pid, pid) {
				time.Sleep(10 * time.Millisecond)
			}
		}()
	})
	g.Output()
	p := s.Profile()
	got := commands(p)
	if c := got["mix"]; c.Processes != 1 || c.CPU < 100*time.Millisecond {
		t.Errorf("mix: %+v", c)
	}
	with, all := underRoot(t, p, profile.ByCommand, "mix_round")
	if with["mix"] < all["mix"]*9/10 {
		t.Errorf("%d of %d ns are in mix_round", with["mix"], all["mix"])
	}
	if c := got["sh"]; c.Processes < 2 {
		t.Errorf("sh: %+v", c)
	}
	var b strings.Builder
	p.Write(&b, profile.Folded, &profile.Options{Value: profile.Wall, By: profile.ByCommand})
	if !strings.Contains(b.String(), ";[read] ") || !strings.Contains(b.String(), ";[wait4] ") {
		t.Errorf("waiting is not shown:\n%s", b.String())
	}
}

// TestFollowStorm: the memory for thousands of ended processes is bounded.
func TestFollowStorm(t *testing.T) {
	children := 1500
	if testing.Short() {
		children = 300
	}
	g := ptest.Start(t, ptest.BuildC(t, "family.c"), "-n", fmt.Sprint(children), "-u", "10")
	g.Ready()
	before, most := openFDs(t), 0
	s := followed(t, perfevent.FollowAuto, g, func() {
		before = openFDs(t)
		g.Stdin.Write([]byte("\n"))
	})
	most = openFDs(t)
	truth, got := relate(g), commands(s.Profile())
	for name, n := range truth.count {
		c := got[name]
		off := float64(c.CPU)/float64(truth.cpu[name]) - 1
		t.Logf("%s: %d processes, %v, wait4 %v (%+.2f %%)", name, c.Processes, c.CPU, truth.cpu[name], 100*off)
		if c.Processes != n || off < -0.05 || off > 0.05 {
			t.Errorf("%s: %d processes of %d, %v of %v", name, c.Processes, n, c.CPU, truth.cpu[name])
		}
	}
	if most > before+20 {
		t.Errorf("%d descriptors, %d before", most, before)
	}
	if tr := s.tree; len(tr.living) > 1 || len(tr.dead) > 0 || len(s.processes) != 1 || len(tr.ends) > 0 {
		t.Errorf("left: %d living, %d dead, %d processes, %d ends", len(tr.living), len(tr.dead), len(s.processes), len(tr.ends))
	}
	t.Log(s.Cost())
}

func openFDs(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestCodeMap: a mapping replaces earlier ones at its addresses. The remaining parts of those keep their places in the
// file.
func TestCodeMap(t *testing.T) {
	var c codeMap
	text := func() string {
		var b strings.Builder
		for _, m := range c.maps {
			fmt.Fprintf(&b, "%d-%d %s+%d ", m.Start, m.End, m.Path, m.Off)
			if m.moved {
				b.WriteString("moved ")
			}
		}
		return strings.TrimSpace(b.String())
	}
	for _, step := range []struct {
		start, end uint64
		path, want string
	}{
		{10, 20, "a", "10-20 a+0"},
		{30, 40, "b", "10-20 a+0 30-40 b+0"},
		{20, 25, "c", "10-20 a+0 20-25 c+0 30-40 b+0"},
		{18, 22, "d", "10-18 a+0 18-22 d+0 22-25 c+2 30-40 b+0"},
		{33, 35, "e", "10-18 a+0 18-22 d+0 22-25 c+2 30-33 b+0 33-35 e+0 35-40 b+5"},
		{5, 32, "f", "5-32 f+0 32-33 b+2 33-35 e+0 35-40 b+5"},
		{35, 40, "g", "5-32 f+0 32-33 b+2 33-35 e+0 35-40 g+0"},
		{10, 14, "", "5-10 f+0 10-14 f+5 moved 14-32 f+9 32-33 b+2 33-35 e+0 35-40 g+0"},
		{11, 12, "", "5-10 f+0 10-11 f+5 moved 11-12 f+6 moved 12-14 f+7 moved 14-32 f+9 32-33 b+2 33-35 e+0 35-40 g+0"},
		{10, 32, "h", "5-10 f+0 10-32 h+0 32-33 b+2 33-35 e+0 35-40 g+0"},
	} {
		c.add(procfs.Map{Start: step.start, End: step.end, Path: step.path, Inode: uint64(len(step.path))})
		if got := text(); got != step.want {
			t.Fatalf("%s: %s, want %s", step.path, got, step.want)
		}
	}
	before := text()
	child := c.copyOf()
	child.add(procfs.Map{Start: 1, End: 100, Path: "i"})
	if got := text(); got != before || len(child.maps) != 1 {
		t.Errorf("%s: a child has changed it", got)
	}
	if c.find(32) != 2 || c.find(4) != -1 || c.find(40) != -1 || c.find(39) != 4 {
		t.Errorf("find: %d %d %d %d", c.find(32), c.find(4), c.find(40), c.find(39))
	}
}
