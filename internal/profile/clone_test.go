package profile

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestClone: a copy stays the profile at that time, in every format, whatever is added later.
func TestClone(t *testing.T) {
	p := fakeProfile(straight)
	p.Resolve()
	formats := []Format{Text, HTML, SVG, Folded, Pprof, Speedscope, Firefox, Perf, JSON}
	want := make(map[Format]string)
	for _, f := range formats {
		want[f] = write(t, p, f, &Options{Value: CPU})
	}
	c := p.Clone()
	s := p.spaces[0]
	s.Add(s.Cell(p.Thread(4, 12, "late"), s.Stack([]Addr{p.Note("[read]"), {PC: 0x3003, Kind: Return}})), Values{Samples: 100, CPU: 1000, Wall: 1000})
	s.Add(0, Values{Samples: 1, CPU: 1, Wall: 1})
	p.Rename(0, "renamed")
	for _, f := range formats {
		if got := write(t, c, f, &Options{Value: CPU}); got != want[f] {
			t.Errorf("format %d: %s\nwant %s", f, got, want[f])
		}
		if got := write(t, p, f, &Options{Value: CPU}); got == want[f] {
			t.Errorf("format %d: what was added is not there", f)
		}
	}
}

// TestCloneLooksNothingUp: an address without a name is [not named yet] in the copy, and gets its name in
// the profile later.
func TestCloneLooksNothingUp(t *testing.T) {
	p := fakeProfile(straight)
	c := p.Clone()
	if text := write(t, c, Folded, &Options{}); !strings.Contains(text, "[not named yet]") || strings.Contains(text, "leaf") {
		t.Errorf("the copy has\n%s", text)
	} else if !strings.Contains(text, "[futex]") {
		t.Errorf("a system call has no name:\n%s", text)
	}
	if text := write(t, p, Folded, &Options{}); strings.Contains(text, "[not named yet]") || !strings.Contains(text, "leaf") {
		t.Errorf("the profile has\n%s", text)
	}
}

// TestCloneWhileAdding: copies are written on other goroutines while the profile grows. For the race detector.
func TestCloneWhileAdding(t *testing.T) {
	p := fakeProfile(straight)
	p.Timeline = true
	s := p.spaces[0]
	var writers sync.WaitGroup
	for i := range 50 {
		levels := []Addr{p.Note("[read]"), {PC: uint64(0x1000 + i), Kind: Return}}
		c := s.Cell(p.Thread(4, 10+i%3, "x"), s.Stack(levels))
		s.AddDuring(c, Values{Samples: 1, CPU: 1, Wall: 1}, time.Duration(i), time.Duration(i+1), i%2 == 0)
		s.Resolve(1)
		if i%10 == 0 {
			c := p.Clone()
			writers.Go(func() {
				var b bytes.Buffer
				if err := c.Write(&b, HTML, &Options{}); err != nil || b.Len() == 0 {
					t.Error(err)
				}
			})
		}
	}
	writers.Wait()
}

// BenchmarkClone: the cost of a copy of a profile of 50,000 stacks, 30 levels deep, with the maximum of spans.
func BenchmarkClone(b *testing.B) {
	p := New()
	p.Timeline = true
	s := p.Space(4, "/bin/app", fakeCode{})
	var stack StackID
	for i := range 50_000 {
		if i%10 == 0 {
			stack = 0
			for level := range 24 {
				stack = s.Push(stack, Addr{PC: uint64(0x1000 + i*level%20_000), Kind: Return})
			}
		}
		stack = s.Push(stack, Addr{PC: uint64(0x1000 + i%20_000), Kind: Return})
		s.Add(s.Cell(p.Thread(4, 10+i%50, "x"), stack), Values{Samples: 1, CPU: 1, Wall: 1})
	}
	for i := range maxSpans - 1 {
		s.AddDuring(Cell(i%len(s.cells)), Values{Samples: 1, CPU: 1, Wall: 1}, time.Duration(2*i), time.Duration(2*i+1), true)
	}
	p.Resolve()
	b.ReportAllocs()
	for b.Loop() {
		p.Clone()
	}
}
