package profile

import "testing"

// TestWindow: an interval has what was added since the one before, also for an image that has been retired
// meanwhile.
func TestWindow(t *testing.T) {
	p := New()
	s := p.Space(1, "/bin/app", fakeCode{})
	add := func(s *Space, pc uint64, v Values) {
		s.Add(s.Cell(p.Thread(1, 1, "x"), s.Stack([]Addr{{PC: pc, Kind: Exact}, {PC: 0x1003, Kind: Return}})), v)
	}
	self := func(in *Interval) map[string]int64 {
		got := make(map[string]int64)
		for _, f := range in.Functions {
			if f.Self != (Values{}) {
				got[f.Name] = f.Self.CPU
			}
		}
		return got
	}
	check := func(in *Interval, leaf, blind int64) {
		t.Helper()
		got := self(in)
		if got["leaf"] != leaf || got["[unknown]"] != blind || in.Total.CPU != leaf+blind {
			t.Errorf("interval %v of %d, want leaf %d, [unknown] %d", got, in.Total.CPU, leaf, blind)
		}
	}
	o := &Options{Value: CPU}
	add(s, 0x3001, Values{Samples: 1, CPU: 100, Wall: 100})
	w := p.Window()
	check(w.Next(o), 0, 0)
	add(s, 0x3001, Values{Samples: 1, CPU: 5, Wall: 5})
	add(s, 0x9001, Values{Samples: 1, CPU: 7, Wall: 7})
	in := w.Next(o)
	check(in, 5, 7)
	if len(in.Threads) != 1 || in.Threads[0].Function != "[unknown] (libblind.so)" || in.Threads[0].Values.CPU != 12 {
		t.Errorf("threads %+v", in.Threads)
	}
	add(s, 0x3001, Values{Samples: 1, CPU: 11, Wall: 11})
	s.Retire()
	s = p.Space(1, "/bin/app", fakeCode{})
	add(s, 0x3001, Values{Samples: 1, CPU: 13, Wall: 13})
	check(w.Next(o), 24, 0)
	s.Retire()
	check(w.Next(o), 0, 0)
}
