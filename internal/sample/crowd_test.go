package sample

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"ptools/internal/perfevent"
	"ptools/internal/profile"
	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/internal/source"
)

// fakeTasks reads the threads of a world all at once.
type fakeTasks struct{ *fakeWorld }

func (w fakeTasks) Read() ([]perfevent.TaskRecord, error) {
	w.atOnce++
	var records []perfevent.TaskRecord
	for _, t := range w.sortedThreads() {
		r := perfevent.TaskRecord{TID: t.tid, State: t.state, Start: t.born, Run: t.sched.Run, Wait: t.sched.Wait, Slices: t.sched.Slices}
		var words [ptrace.SavedWords]uint64
		r.Regs.SetSaved(&words)
		r.Regs.SetPC(t.call.PC)
		r.Regs.SetSP(t.call.SP)
		r.Regs.SetSyscall(t.call.Nr)
		records = append(records, r)
	}
	if f := w.onTasks; f != nil {
		f()
	}
	return records, nil
}

func (fakeTasks) One(int) (*perfevent.TaskRecord, error) { return nil, nil }
func (fakeTasks) Close() error                           { return nil }

// unopened is a thread of a world whose files have not been opened.
type unopened struct {
	source.TaskFiles
	bound *bool
}

func (u unopened) Bound() bool { return *u.bound }

// crowdSource is a source that reads its threads all at once.
func (w *fakeWorld) crowdSource() *source.Process {
	src := w.source()
	src.Tasks = func() (source.Tasks, error) { return fakeTasks{w}, nil }
	src.Unopened = func(tid int) source.TaskFiles { return unopened{w.threads[tid], new(bool)} }
	return src
}

func runCrowd(t *testing.T, w *fakeWorld, c *fakeClock, rounds int) *Sampler {
	t.Helper()
	const period = 10 * time.Millisecond
	s := New([]*source.Process{w.crowdSource()}, &Options{
		Period: period, For: time.Duration(rounds) * period, Clock: c, Ticks: fakeTicks{w, period},
	})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCrowdIsReadAtOnce: the files of threads that sleep are not read, and each has its samples.
func TestCrowdIsReadAtOnce(t *testing.T) {
	w := newWorld(2000)
	s := runCrowd(t, w, &fakeClock{}, 10)
	for _, th := range w.threads {
		if th.reads > 0 {
			t.Fatalf("thread %d: read %d times", th.tid, th.reads)
		}
	}
	if n := s.Profile().Total().Samples; n != 20000 {
		t.Errorf("%d samples, want 20000", n)
	}
	if w.atOnce > 8 {
		t.Errorf("read at once %d times", w.atOnce)
	}
}

// TestCrowdMoves: a thread that runs between the two readings is looked at by itself.
func TestCrowdMoves(t *testing.T) {
	w := newWorld(2000)
	moved := 0
	w.onTasks = func() {
		if w.atOnce < 2 {
			return
		}
		for tid := 100 + w.atOnce; tid < 2100; tid += 100 {
			w.threads[tid].block(1, 0x2a, 0x3a)
			moved++
		}
	}
	s := runCrowd(t, w, &fakeClock{}, 10)
	if n := s.Profile().Total().Samples; n != 20000 || moved == 0 {
		t.Errorf("%d samples, want 20000; %d moves", n, moved)
	}
}

// TestCrowdReusedTID: a thread whose files were never opened ends, and another thread gets its number.
func TestCrowdReusedTID(t *testing.T) {
	for name, tell := range map[string]func(w *fakeWorld){
		"told": func(w *fakeWorld) {
			w.records = append(w.records, perfevent.Record{Kind: perfevent.Exit, PID: 100, TID: 150})
		},
		"lost": func(w *fakeWorld) { w.lost = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			w, c := newWorld(2000), &fakeClock{}
			c.run = func(_, to time.Duration) {
				if to == 50*time.Millisecond {
					w.end(150)
					next := w.start(150)
					next.born = 7
					next.block(1, 0x2a)
					tell(w)
				}
			}
			s := runCrowd(t, w, c, 10)
			if got := counts(t, s, "[write]"); got < 5 || got > 6 {
				t.Errorf("%v samples of the second thread", got)
			}
		})
	}
}

// counts returns the samples in a function.
func counts(t *testing.T, s *Sampler, function string) int64 {
	t.Helper()
	return int64(share(t, s, profile.Samples, function)*float64(s.Profile().Total().Samples) + 0.5)
}

// TestCrowd: the stacks of many sleeping threads are the same, whether read at once or one by one. The former
// opens no files of each thread.
func TestCrowd(t *testing.T) {
	needTimers(t)
	const threads = 600
	g := ptest.Start(t, ptest.BuildC(t, "busyidle.c"), "-b", "1", "-t", fmt.Sprint(threads))
	g.Ready()
	seen := func(atOnce bool) (stacks map[int]string, opened int) {
		done := make(chan struct{})
		src := source.Watch(g.PID, done, openFiles(t), false)
		open := src.Thread
		src.Thread = func(tid int) (source.TaskFiles, error) { opened++; return open(tid) }
		if tasks, err := src.Tasks(); err != nil {
			t.Skip(err)
		} else {
			tasks.Close()
		}
		if !atOnce {
			src.Tasks = nil
		}
		stacks = map[int]string{}
		each := func(s *Sample) {
			var text string
			for _, a := range s.Space.Levels(s.Stack, nil)[1:] { // the first is the system call
				text += fmt.Sprintf(" %x", a)
			}
			stacks[s.TID] = text
			if s.Partial && atOnce {
				t.Errorf("thread %d: registers are missing", s.TID)
			}
			if !s.Partial && s.Regs.SP() != s.SP {
				t.Errorf("thread %d: sp %#x, want %#x", s.TID, s.Regs.SP(), s.SP)
			}
		}
		s := New([]*source.Process{src}, &Options{
			Period: 10 * time.Millisecond, For: 300 * time.Millisecond, Each: each, Ticks: wanting(t, TimersOnly, 10*time.Millisecond, src),
		})
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(stacks, func(tid int, _ string) bool { return !slept(t, g, tid) })
		return stacks, opened
	}
	want, all := seen(false)
	got, few := seen(true)
	if len(want) < threads {
		t.Fatalf("%d threads have stacks, want %d", len(want), threads)
	}
	for tid, stack := range want {
		if got[tid] != stack {
			t.Errorf("thread %d:%s, want%s", tid, got[tid], stack)
		}
	}
	if all < threads || few > 0 {
		t.Errorf("opened %d and %d threads", all, few)
	}
}

// slept reports whether a thread is one of those that sleep.
func slept(t *testing.T, g *ptest.Target, tid int) bool {
	t.Helper()
	return tid != g.PID && g.ThreadState(tid) == 'S'
}
