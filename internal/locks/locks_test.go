package locks

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"ptools/internal/futex"
	"ptools/internal/profile"
)

// world is a process with two mutexes. Its memory has the words of the mutexes only.
type world struct {
	space   *profile.Space
	threads map[int]*thread
	words   map[uint64]uint32
	now     time.Duration
}

// thread is in the function with its number, unless look says something else.
type thread struct {
	w    *world
	tid  int
	id   profile.ThreadID
	look func(l *futex.Lock) Sight
}

func (t *thread) TID() int               { return t.tid }
func (t *thread) ID() profile.ThreadID   { return t.id }
func (t *thread) Space() *profile.Space  { return t.w.space }
func (t *thread) Shown() profile.StackID { return t.w.stack(t.tid) }

func (t *thread) Look(l *futex.Lock) Sight {
	if t.look != nil {
		return t.look(l)
	}
	return Sight{Stack: t.Shown()}
}

func (w *world) stack(tid int) profile.StackID {
	return w.space.Stack([]profile.Addr{{PC: uint64(tid)}})
}

func (w *world) Thread(tid int) Thread {
	if t := w.threads[tid]; t != nil {
		return t
	}
	return nil
}

func (w *world) Other(int) Thread         { return nil }
func (w *world) Threads() ([]int, uint64) { return nil, 0 }
func (w *world) Settle()                  { w.space.ResolveAll() }

// Resolve implements profile.Resolver.
func (w *world) Resolve(a profile.Addr, dst []profile.Frame) ([]profile.Frame, profile.Mapping) {
	return append(dst, profile.Frame{Func: fmt.Sprint("f", a.PC)}), profile.Mapping{}
}

func (w *world) ReadStack(p []byte, addr uint64) int {
	clear(p)
	for at, word := range w.words {
		if at >= addr && at+4 <= addr+uint64(len(p)) {
			binary.LittleEndian.PutUint32(p[at-addr:], word)
		}
	}
	return len(p)
}

const lockA, lockB = 0x5000, 0x6000

// own makes a mutex of glibc that a thread holds and others wait for.
func (w *world) own(lock uint64, tid int) {
	w.words[lock], w.words[lock+8], w.words[lock+12] = 2, uint32(tid), 1
}

// TestCharges: whose stack a blocked time is charged to, and why to none.
func TestCharges(t *testing.T) {
	const first, second, third, fourth = 1001, 1002, 1003, 1004
	for _, tt := range []struct {
		name string
		of   int // the owner of lockB, for which second waits; first waits for lockA, which second owns
		look func(w *world, l *futex.Lock) Sight
		want []string // waiter, why or owner, and its stack
	}{
		{"the owner sleeps", third, nil, []string{"first: third has lockB [f1003]", "second: third has lockB [f1003]"}},
		{"the owner runs", third, func(w *world, _ *futex.Lock) Sight { return Sight{Stack: w.stack(7), Held: true} },
			[]string{"first: third has lockB [f7]", "second: third has lockB [f7]"}},
		{"it has another owner after each look", third, func(w *world, l *futex.Lock) Sight {
			w.own(lockB, third+fourth-l.Owner)
			return Sight{Stack: w.stack(7)}
		}, []string{"first: second has lockA [f1002]", "second: " + ChangedHands + " [f1002 [" + ChangedHands + "]]"}},
		{"the owner never stands still", third, func(*world, *futex.Lock) Sight { return Sight{Moved: true} },
			[]string{"first: second has lockA [f1002]", "second: " + NotSeen + " [f1002 [owner unknown (" + NotSeen + ")]]"}},
		{"they wait for each other", first, nil, []string{"first: deadlock [f1002 [deadlock]]", "second: deadlock [f1001 [deadlock]]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := profile.New()
			w := &world{threads: make(map[int]*thread), words: make(map[uint64]uint32)}
			w.space = p.Space(os.Getpid(), "fake", w)
			for tid, name := range map[int]string{first: "first", second: "second", third: "third", fourth: "fourth"} {
				w.threads[tid] = &thread{w: w, tid: tid, id: p.Thread(os.Getpid(), tid, name)}
			}
			if tt.look != nil {
				for _, tid := range []int{third, fourth} {
					w.threads[tid].look = func(l *futex.Lock) Sight { return tt.look(w, l) }
				}
			}
			w.own(lockA, second)
			w.own(lockB, tt.of)
			l := New(w, Options{PID: os.Getpid(), Profile: p, Now: func() time.Duration { return w.now }})
			l.Open(w, w.space)
			for w.now < 30*time.Millisecond {
				last := w.now
				w.now += 10 * time.Millisecond
				l.Begin(last)
				for tid, lock := range map[int]uint64{first: lockA, second: lockB} {
					if th := w.threads[tid]; !l.Still(th) {
						l.Sleeps(th, Sleep{Stack: th.Shown(), Since: last, Args: &[6]uint64{lock, 0x80, 2}})
					}
				}
				l.Rest()
				l.Finish(w.now)
				w.own(lockB, tt.of)
			}
			l.Close()
			if got := chargesOf(t, p, 30*time.Millisecond); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// chargesOf returns what a profile says of the waits, each of which has to have lasted for a time.
func chargesOf(t *testing.T, p *profile.Profile, long time.Duration) (list []string) {
	t.Helper()
	var b bytes.Buffer
	if err := p.Contention().Write(&b, profile.JSON, nil); err != nil {
		t.Fatal(err)
	}
	var d profile.Document
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Samples {
		wait, stack := d.Waits[*c.Wait], []string(nil)
		for _, l := range c.Stack {
			for _, n := range d.Locations[l].Lines {
				stack = append(stack, d.Functions[n.Function].Name)
			}
		}
		text := wait.Unknown
		if text == "" {
			held := wait.Lock.Address
			if wait.Holds != nil {
				held = wait.Holds.Address
			}
			text = wait.Holder + " has " + map[string]string{"0x5000": "lockA", "0x6000": "lockB"}[held]
		}
		list = append(list, fmt.Sprintf("%s: %s %s", d.Threads[c.Thread].Name, text, stack))
		if got := time.Duration(c.WallNS); got != long {
			t.Errorf("%s for %v, want %v", list[len(list)-1], got, long)
		}
	}
	slices.Sort(list)
	return list
}
