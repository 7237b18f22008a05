package sample

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptest"
)

// blamed is what a thread has waited, as the profile has it.
type blamed struct {
	profile.DocWait
	thread string
	stack  []string
	waits  int64
	time   time.Duration
}

// blames returns what a sampler has found out.
func blames(t testing.TB, s *Sampler) (list []blamed) {
	t.Helper()
	var b bytes.Buffer
	if err := s.Profile().Contention().Write(&b, profile.JSON, nil); err != nil {
		t.Fatal(err)
	}
	var d profile.Document
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Samples {
		w := blamed{DocWait: d.Waits[*c.Wait], thread: d.Threads[c.Thread].Name, waits: c.Samples, time: time.Duration(c.WallNS)}
		for _, l := range c.Stack {
			for _, n := range d.Locations[l].Lines {
				w.stack = append(w.stack, d.Functions[n.Function].Name)
			}
		}
		list = append(list, w)
	}
	return list
}

// blameFor samples a process for a time.
func blameFor(t testing.TB, use UseTimers, d time.Duration, pid int, with bool) *Sampler {
	t.Helper()
	timers, err := OpenTimers(use, TimersOptions{Period: DefaultPeriod, Blame: with})
	if err != nil {
		t.Fatal(err)
	}
	defer timers.Close()
	o := &Options{For: d}
	if with {
		o.Blame = timers.Blame()
	}
	var src *Source
	if timers != nil {
		o.Ticks = timers
		src = Watch(pid, make(chan struct{}), openFiles(t), true)
	} else {
		src = NewSource(attach(t, pid, nil), openFiles(t), false)
	}
	if err := timers.Want(pid); err != nil {
		t.Fatal(err)
	}
	s := New([]*Source{src}, o)
	if err := s.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestBlame: each lock is blamed on the function that holds it, for as long as others wait, by the program's own count.
func TestBlame(t *testing.T) { bothWays(t, testBlame) }

func testBlame(t *testing.T, use UseTimers) {
	truth := ptest.NewTruth(t)
	g := ptest.StartWith(t, &ptest.Options{Truth: truth}, ptest.BuildC(t, "contend.c"))
	g.Ready()
	waited := func() (sum [3]float64) {
		for i := range sum { // waits that are not over count until now
			sum[i] = float64(truth.Share(i) + truth.Share(8+i)*uint64(perfevent.Now()))
		}
		return sum
	}
	before := waited()
	seconds := ptest.Rounds(2, 6, 20)
	s := blameFor(t, use, time.Duration(seconds)*time.Second, g.PID, true)
	var want, got, right, wrong [3]float64
	var all, wanted, known, unnamed float64
	for i, sum := range waited() {
		want[i] = sum - before[i]
		wanted += want[i]
	}
	why := make(map[string]time.Duration)
	for _, b := range blames(t, s) {
		i := slices.Index([]string{"lock_a", "lock_b", "lock_c"}, b.Lock.Symbol)
		why[b.Unknown] += b.time
		if i < 0 {
			t.Errorf("lock %+v", b.Lock)
			continue
		}
		got[i] += float64(b.time)
		all += float64(b.time)
		if b.Unknown != "" {
			continue
		}
		known += float64(b.time)
		if slices.Contains(b.stack, "hold_"+b.Lock.Symbol[5:]) || b.Lock.Symbol == "lock_c" && slices.Contains(b.stack, "want_c") {
			right[i] += float64(b.time)
		} else {
			wrong[i] += float64(b.time)
			t.Logf("%v of %s on %q", b.time, b.Lock.Symbol, b.stack)
		}
		if !slices.Contains([]string{"hold_a", "hold_b", "hold_c", "want_c"}, b.Function) {
			unnamed += float64(b.time) // it had waited before names were known
		}
		if b.Function != "" && b.Function[:4] != "hold" && b.Function != "want_c" {
			t.Errorf("waiting function %q", b.Function)
		}
	}
	t.Logf("waited %.2f s, the program says %.2f s; %.1f %% blamed; why not: %v", all/1e9, wanted/1e9, 100*known/all, why)
	for i, name := range []string{"hold_a", "hold_b", "hold_c"} {
		share, truth := 100*right[i]/known, 100*want[i]/wanted
		t.Logf("%s: %.1f %% of what is blamed, %.1f %% of all that was waited; the program says %.1f %%", name, share, 100*got[i]/all, truth)
		// While threads are stopped others wait for them.
		slack := 3 + 10/float64(seconds)
		if all := 100 * got[i] / all; use == TimersOnly && (all < truth-slack || all > truth+slack) {
			t.Errorf("%s: %.1f %% of the waiting, %.1f %% by the program's count", name, all, truth)
		}
		if wrong[i] > 0.01*right[i] || right[i] == 0 {
			t.Errorf("%s: right %v, wrong %v", name, time.Duration(right[i]), time.Duration(wrong[i]))
		}
	}
	t.Logf("functions that waited %v have no name", time.Duration(unnamed))
	if use == TimersOnly && s.Cost().Stops != 0 {
		t.Errorf("%d stops", s.Cost().Stops)
	}
	if n := truth.EINTR(); n != 0 {
		t.Errorf("%d EINTRs", n)
	}
	if total := s.Profile().Contention().Total(); total.CPU != 0 || float64(total.Wall) != all {
		t.Errorf("total %+v, sum %v", total, all)
	}
	g.Finish()
}

// TestBlameKinds: which locks tell who holds them, and why the others do not.
func TestBlameKinds(t *testing.T) {
	for _, build := range []struct {
		name string
		path func() string
		musl bool
	}{
		{"glibc", func() string { return ptest.BuildC(t, "waits.c") }, false},
		{"static", func() string { return ptest.BuildC(t, "waits.c", "-static") }, false},
		{"musl", func() string { return ptest.BuildMusl(t, "waits.c") }, true},
	} {
		t.Run(build.name, func(t *testing.T) { testKinds(t, build.path(), build.musl) })
	}
}

func testKinds(t *testing.T, program string, musl bool) {
	held := func(kind string) string { return "^" + kind + ` \w+, waits:main, $` }
	want := map[string]string{
		"normal": held("mutex"), "recursive": held("mutex"), "checking": held("mutex"), "adaptive": held("mutex"),
		"robust": held("mutex"), "inheriting": held("mutex"), "hidden": held("mutex"), "again": held("mutex"),
		"reading": held("read-write lock"), "writing": held("read-write lock"),
		"reader":    "^read-write lock reader, , it is held to read, and keeps no readers$",
		"semaphore": "^semaphore semaphore, , semaphore$", "barrier": "^barrier barrier, , barrier$",
		"condition": "^condition variable condition, , condition variable$", "thread": `^thread \w*, , end of a thread$`,
	}
	if musl {
		for _, name := range []string{"normal", "adaptive", "hidden", "again"} {
			want[name] = `^mutex \w+, , a normal mutex of musl keeps none$`
		}
		for _, name := range []string{"reading", "writing", "reader"} {
			want[name] = `^read-write lock \w+, , a read-write lock of musl keeps none$`
		}
		want["inheriting"] = `^mutex inheriting, waits:main, $`
		want["thread"], want["condition"], want["barrier"] = ".", ".", "^barrier"
	}
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, program)
	g.Ready()
	compareWaits(t, waitsOf(t, g.PID, "main"), want)
}

// waitsOf samples a process all of whose threads wait, and returns by their names what they wait for, the thread and the
// function that holds it, if that is one of those named, and why nobody does.
func waitsOf(t *testing.T, pid int, functions ...string) map[string]string {
	t.Helper()
	s := blameFor(t, TimersAuto, 500*time.Millisecond, pid, true)
	got := make(map[string]string)
	for _, b := range blames(t, s) {
		holder := ""
		if b.Holder != "" {
			i := slices.IndexFunc(b.stack, func(f string) bool { return slices.Contains(functions, f) })
			holder = b.Holder + ":" + append(b.stack, "?")[max(i, 0)]
			if b.Holds != nil {
				holder += " has " + b.Holds.Symbol
			}
		}
		got[b.thread] += fmt.Sprintf("%s %s, %s, %s", b.Lock.Kind, b.Lock.Symbol, holder, b.Unknown)
		if b.waits != 1 || b.time < 400*time.Millisecond {
			t.Errorf("%s: %d waits of %v in half a second", b.thread, b.waits, b.time)
		}
	}
	return got
}

// compareWaits holds what was seen against patterns.
func compareWaits(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, pattern := range want {
		if !regexp.MustCompile(pattern).MatchString(got[name]) {
			t.Errorf("%s: %q, want %s", name, got[name], pattern)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d threads wait: %q", len(got), got)
	}
}

// TestBlameLanguages: locks of C++ tell who holds them; those of Rust, Go and Python keep no owner.
func TestBlameLanguages(t *testing.T) {
	cxx := func(args ...string) func(t *testing.T) []string {
		return func(t *testing.T) []string { return append([]string{ptest.BuildC(t, "testdata/locks.cc")}, args...) }
	}
	const held = "^%s %s, locks:hold\\(\\), $"
	for _, tt := range []struct {
		name      string
		program   func(t *testing.T) []string
		functions []string
		want      map[string]string
	}{
		{"C++", cxx(), []string{"hold()"}, map[string]string{
			"plain": fmt.Sprintf(held, "mutex", "plain"), "recursive": fmt.Sprintf(held, "mutex", "recursive"), "timed": fmt.Sprintf(held, "mutex", "timed"),
			"unique": fmt.Sprintf(held, "read-write lock", "shared"), "shared": fmt.Sprintf(held, "read-write lock", "shared"),
			"read_held": "^read-write lock read_held, , it is held to read, and keeps no readers$",
			"condition": "^condition variable condition, , condition variable$",
		}},
		{"chain", cxx("chain"), []string{"hold_last()"}, map[string]string{
			"middle": "^mutex second, last:hold_last\\(\\), $", "waiter": "^mutex first, last:hold_last\\(\\) has second, $",
		}},
		{"deadlock", cxx("deadlock"), nil, map[string]string{
			"one": "^mutex second, two:.*, deadlock$", "two": "^mutex first, one:.*, deadlock$", "itself": "^mutex plain, itself:.*, deadlock$",
		}},
		{"owner ended", cxx("died"), nil, map[string]string{"normal": "^mutex normal, , owner has ended$"}},
		{"Rust", func(t *testing.T) []string { return []string{buildRust(t, "locks")} }, nil, map[string]string{
			"mutex": "^Rust mutex .*, , Rust mutex$", "rwlock": "^Rust read-write lock .*, , Rust read-write lock$",
			"condvar": "^Rust condition variable .*, , Rust condition variable$", "park": "^Rust thread::park .*, , Rust thread::park$",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			argv := tt.program(t)
			g := ptest.StartWith(t, &ptest.Options{Foreign: true}, argv...)
			g.Ready()
			compareWaits(t, waitsOf(t, g.PID, tt.functions...), tt.want)
		})
	}
}

// TestBlameNamespace: a process in another PID namespace knows its threads by other numbers than we.
func TestBlameNamespace(t *testing.T) {
	ptest.NeedNamespaces(t, "-pfm")
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, "unshare", "-pf", "--mount-proc", "--kill-child", ptest.BuildC(t, "testdata/locks.cc"), "chain")
	g.Ready()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", g.PID, g.PID))
	if err != nil {
		t.Skipf("this kernel does not tell children: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	compareWaits(t, waitsOf(t, pid, "hold_last()"), map[string]string{
		"middle": "^mutex second, last:hold_last\\(\\), $", "waiter": "^mutex first, last:hold_last\\(\\) has second, $",
	})
}

// TestBlameCrowd: of a thousand threads that wait for one lock each is blamed on its holder. What that costs is printed.
func TestBlameCrowd(t *testing.T) {
	const threads = 1000
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "waits.c"), "crowd", strconv.Itoa(threads))
	g.Ready()
	for _, with := range []bool{false, true} {
		var before, after syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		s := blameFor(t, TimersAuto, 2*time.Second, g.PID, with)
		syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
		t.Logf("blame %v: %.2f %% of a processor in 2 s at 99 Hz, %d stops", with, float64(used)/2e7, s.Cost().Stops)
		if !with {
			continue
		}
		n := 0
		for _, b := range blames(t, s) {
			if b.TID == g.PID && b.Lock.Symbol == "normal" && b.time > 1500*time.Millisecond {
				n++
			}
		}
		if n != threads {
			t.Errorf("%d threads of %d", n, threads)
		}
	}
}

// TestBlameRereads: whatever changes between two readings of a lock, nobody is blamed who does not hold it.
func TestBlameRereads(t *testing.T) {
	const lock, holder, other = 0x500000, 101, 102
	for _, tt := range []struct {
		name   string
		second uint32            // owner at the second reading
		move   func(*fakeThread) // what the holder does after the first
		want   string            // why nobody is blamed
		stack  string            // of the holder
	}{
		{"it holds it", holder, nil, "", "[[nanosleep] r1 s1]"},
		{"it has unlocked it", 0, nil, changedHands, ""},
		{"another has it", other, nil, changedHands, ""},
		{"it moves and holds it", holder, func(t *fakeThread) { t.block(35, 0x10, 0x1003) }, "", "[[nanosleep] q1 r1]"},
		{"it moves and has unlocked it", 0, func(t *fakeThread) { t.block(35, 0x10, 0x1003) }, changedHands, ""},
		{"it runs", holder, func(t *fakeThread) { t.spin(0x20, 0x30) }, notSeen, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(3)
			w.threads[100].call.Args = [6]uint64{lock, 0x80, 2}
			w.threads[holder].block(35, 0x11, 0x1004)
			w.threads[other].block(35, 0x12, 0x1005)
			held := true
			w.memory = func(p []byte, addr uint64) {
				words := map[uint64]uint32{lock: 2, lock + 8: holder, lock + 12: 1}
				if len(p) == 4 { // the second reading
					words[lock+8], held = tt.second, true
				} else if addr == lock-16 && tt.move != nil && held {
					tt.move(w.threads[holder])
					w.threads[holder].sched.Slices++
					held = false
				}
				for at, v := range words {
					if at >= addr && at+4 <= addr+uint64(len(p)) {
						binary.LittleEndian.PutUint32(p[at-addr:], v)
					}
				}
			}
			s := New([]*Source{w.source()}, &Options{
				Period: 10 * time.Millisecond, For: 100 * time.Millisecond, Clock: &fakeClock{}, Blame: &Blame{},
				Ticks: fakeTicks{w, 10 * time.Millisecond},
			})
			if err := s.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
			list := blames(t, s)
			var sum time.Duration
			for _, b := range list {
				sum += b.time
				if b.Unknown != tt.want || b.Unknown == "" && (b.TID != holder || fmt.Sprint(b.stack) != tt.stack) || b.Unknown != "" && b.Holder != "" {
					t.Errorf("%+v", b)
				}
			}
			if len(list) == 0 || sum != 100*time.Millisecond {
				t.Errorf("%v in %d lines", sum, len(list))
			}
		})
	}
}
