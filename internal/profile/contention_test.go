package profile

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// contended is a profile in which two threads have waited for a third, and for something that no
// thread holds.
func contended() (*Profile, *Space) {
	p := New()
	p.Duration, p.Period, p.Rounds = time.Second, 10*time.Millisecond, 100
	r := namedCode{1: "hold", 2: "run", 3: "want", 4: "pthread_mutex_lock", 5: "take\x1b[2J", 6: "pthread_cond_wait"}
	s := p.Space(7, "/bin/server", r)
	code := func(pcs ...uint64) (levels []Addr) {
		for _, pc := range pcs {
			levels = append(levels, Addr{PC: pc})
		}
		return levels
	}
	first, second := p.Thread(7, 8, "first"), p.Thread(7, 9, "second")
	lock := s.Lock(Lock{Kind: "mutex", Owned: true, Addr: 0x4010})
	behind := s.Lock(Lock{Kind: "mutex", Owned: true, Addr: 0x9000})
	cond := s.Lock(Lock{Kind: "condition variable", Addr: 0x8000})
	futex := p.Note("[futex]")
	waiting := s.Stack(append([]Addr{futex}, code(4, 3, 2)...))
	holding := s.Stack(code(1, 2))
	asleep := s.Stack(append([]Addr{p.Note("[read]")}, code(5, 2)...))
	add := func(t ThreadID, stack StackID, w Wait, waits int64, wall time.Duration) {
		id := p.Wait(w)
		s.Blame(t, stack, id, Values{Samples: waits, Wall: int64(wall)})
		s.Waited(t, waiting, id, Values{Samples: waits, Wall: int64(wall)})
	}
	held := Wait{Lock: lock, Holds: lock, Function: "want", Holder: "third\x1b[1m", TID: 10}
	add(first, holding, held, 1, 300*time.Millisecond)
	add(first, holding, held, 2, 200*time.Millisecond)
	add(second, holding, held, 1, 100*time.Millisecond)
	add(second, asleep, Wait{Lock: lock, Holds: behind, Function: "want", Holder: "fourth", TID: 11}, 1, 300*time.Millisecond)
	add(second, s.Rooted(waiting, p.Note("[changed hands]")), Wait{Lock: lock, Function: "want", Why: ChangedHands}, 1, 100*time.Millisecond)
	add(second, s.Rooted(waiting, p.Note("[owner unknown (condition variable)]")), Wait{Lock: cond, Function: "idle", Why: "condition variable"}, 1, 5*time.Second)
	s.PlaceLocks(func(addr uint64) (string, uint64, string) {
		if addr == 0x4010 {
			return "table\x1b[3m", 16, "/lib/libtable.so"
		}
		return "", 0, ""
	})
	return p, s
}

// namedCode names addresses.
type namedCode map[uint64]string

func (f namedCode) Resolve(a Addr, dst []Frame) ([]Frame, Mapping) {
	return append(dst, Frame{Func: f[a.PC], Object: "/bin/server"}), Mapping{}
}

const contentionText = `server (pid 7): 1.0 s, 100 samples at 100 Hz
waiting for locks: 1.00 s by 2 threads; of 90.0 % the holder is known, 10.0 % changed hands while it was looked for
waiting for what nobody holds: 5.00 s

  waited s    share     waits  threads  holder                          lock
     0.600   60.00%         4        2  hold                            mutex table\x1b[3m+16 in libtable.so
     0.300   30.00%         1        1  take\x1b[2J [read]              mutex, by way of mutex table\x1b[3m+16 in libtable.so
     0.100   10.00%         1        1  [changed hands]                 mutex table\x1b[3m+16 in libtable.so

  waited s              waits  threads  waiting function                for what nobody holds
     5.000                  1        1  idle                            condition variable
`

// TestContention: the text says which thread held what others waited for.
func TestContention(t *testing.T) {
	p, _ := contended()
	if New().Contention() != nil {
		t.Error("a profile that was not asked what holds the locks has an answer")
	}
	for name, p := range map[string]*Profile{"as it is": p, "of an image that is gone": retired()} {
		var b strings.Builder
		if err := p.Contention().Write(&b, Text, &Options{Value: Wall}); err != nil {
			t.Fatal(err)
		}
		if b.String() != contentionText {
			t.Errorf("%s:\n%s\nwant\n%s", name, b.String(), contentionText)
		}
	}
	var b strings.Builder
	if err := p.Contention().Write(&b, Text, &Options{Value: Wall, OnStack: true, Threads: true}); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"  hold in third\\x1b[1m (tid 10)  ", "\n" + strings.Repeat(" ", 41) + "hold\n" + strings.Repeat(" ", 41) + "run\n"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no %q in\n%s", line, b.String())
		}
	}
}

// retired is the same profile after its image is gone.
func retired() *Profile {
	p, s := contended()
	s.Retire()
	return p
}

// TestContentionFormats: the values and labels of a mutex profile, and both sides in the graph.
func TestContentionFormats(t *testing.T) {
	p, _ := contended()
	c := p.Contention()
	out := newPprof(c)
	if len(out.SampleType) != 2 || out.SampleType[0].Type != "contentions" || out.SampleType[1].Unit != "nanoseconds" || out.DefaultSampleType != "delay" {
		t.Errorf("%v", out.SampleType)
	}
	if err := out.CheckValid(); err != nil {
		t.Error(err)
	}
	labels := 0
	for _, s := range out.Sample {
		if s.Label["lock"][0] == "mutex table\\x1b[3m+16 in libtable.so" && s.Label["thread"][0] == "first" && s.Label["waiting_function"][0] == "want" &&
			s.Label["holder"][0] == "third\\x1b[1m" && s.NumLabel["holder_tid"][0] == 10 && s.Value[0] == 3 && s.Value[1] == int64(500*time.Millisecond) {
			labels++
		}
	}
	if labels != 1 {
		t.Errorf("%d samples of the first thread:\n%v", labels, out)
	}
	g := c.graph(&Options{Value: Wall})
	var holders, waiters bytes.Buffer
	g.SVG(&holders)
	g.Initial = 1
	g.SVG(&waiters)
	if !strings.Contains(holders.String(), "hold (60.00 %, 0.600 s)") || strings.Contains(waiters.String(), "hold (") || !strings.Contains(waiters.String(), "want (100.00 %, 1.000 s)") {
		t.Errorf("holders:\n%s\nwaiters:\n%s", &holders, &waiters)
	}
	for f := range formats {
		if f := Format(f); f != Creations {
			var a, b bytes.Buffer
			other, _ := contended()
			if err := c.Write(&a, f, &Options{Value: Wall}); err != nil {
				t.Errorf("%v: %v", f, err)
			}
			other.Contention().Write(&b, f, &Options{Value: Wall})
			if !bytes.Equal(a.Bytes(), b.Bytes()) || f != Pprof && bytes.Contains(a.Bytes(), []byte("\x1b")) {
				t.Errorf("%v: two profiles of the same differ, or have a control character", f)
			}
		}
	}
}
