package profile

import (
	"testing"
	"time"
)

// TestTimeline: times that follow each other in one stack are one span. The counters are the same as without a
// timeline. A bound keeps the timeline small: beyond it the timeline is coarser, and covers the same time.
func TestTimeline(t *testing.T) {
	p := New()
	p.Timeline = true
	s := p.Space(1, "/bin/app", fakeCode{})
	a := s.Cell(p.Thread(1, 1, "x"), s.Stack([]Addr{{PC: 0x1001, Kind: Exact}}))
	b := s.Cell(p.Thread(1, 1, "x"), s.Stack([]Addr{p.Note("[futex]"), {PC: 0x1001, Kind: Return}}))
	other := s.Cell(p.Thread(1, 2, "y"), s.Stack([]Addr{{PC: 0x1001, Kind: Exact}}))
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	s.AddDuring(a, Values{Samples: 1, Wall: 1}, 0, ms(10), true)
	s.AddDuring(other, Values{Samples: 1, Wall: 1}, 0, ms(10), true)
	s.AddDuring(a, Values{Samples: 2, Wall: 1}, ms(10), ms(30), true)
	s.AddDuring(b, Values{Samples: 1, Wall: 1}, ms(30), ms(40), false)
	s.AddDuring(a, Values{Samples: 1, Wall: 1}, ms(40), ms(50), true)
	if len(s.spans) != 4 || s.spans[0].to != ms(30) || s.spans[0].samples != 3 {
		t.Errorf("spans %+v", s.spans)
	}
	if s.runs(&s.spans[2]) || !s.runs(&s.spans[0]) {
		t.Error("a thread that waits in a system call runs")
	}
	for i := 5; i < 3*maxSpans; i++ {
		c := a
		if i%2 == 0 {
			c = b
		}
		s.AddDuring(c, Values{Samples: 1, Wall: 1}, ms(10*i), ms(10*i+10), false)
	}
	if len(s.spans) > maxSpans || len(s.spans) < maxSpans/4 {
		t.Errorf("%d spans", len(s.spans))
	}
	s.sortSpans()
	sum := time.Duration(0)
	for _, sp := range s.spans {
		if s.cells[sp.cell].thread == s.cells[a].thread {
			if sp.from != sum {
				t.Fatalf("a span begins at %v, the one before ends at %v", sp.from, sum)
			}
			sum = sp.to
		}
	}
	if want := ms(30 * maxSpans); sum != want {
		t.Errorf("spans until %v, not %v", sum, want)
	}
	if got := p.Total().Samples; got != 3*maxSpans+1 {
		t.Errorf("%d samples", got)
	}
}

// TestTimelineRetired: the times of an image that is gone stay.
func TestTimelineRetired(t *testing.T) {
	p := New()
	p.Timeline = true
	for i := range 3 {
		s := p.Space(1, "/bin/app", fakeCode{})
		c := s.Cell(p.Thread(1, 1, "x"), s.Stack([]Addr{{PC: 0x1001, Kind: Exact}}))
		at := time.Duration(i) * time.Second
		s.AddDuring(c, Values{Samples: 1, Wall: 1e9}, at, at+time.Second, true)
		s.Retire()
	}
	if n := len(p.spaces[0].spans); len(p.spaces) != 1 || n != 3 {
		t.Errorf("%d spaces, %d spans", len(p.spaces), n)
	}
}
