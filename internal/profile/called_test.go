package profile

import (
	"bytes"
	"strings"
	"testing"
)

// TestCalls: a profile of calls is written in the formats that have a form for it, and in no other. Values have names of their own.
func TestCalls(t *testing.T) {
	p := New()
	p.Subject, p.Called = Calls, Called{Functions: 1, Sum: "time", Unit: "bytes"}
	s := p.Space(1, "/bin/a", fakeCode{})
	thread := p.Thread(1, 0, "all threads")
	s.Add(s.Cell(thread, s.Stack([]Addr{{PC: 0x1001, Kind: Exact}, p.Note("[no stack]")})), Values{Samples: 3, Wall: 70, Sum: -4})
	s.Add(s.Cell(thread, s.Stack([]Addr{{PC: 0x2001, Kind: Exact}})), Values{Samples: 2, Wall: 30, Sum: 9})
	for f := range Format(len(formats)) {
		var b bytes.Buffer
		if err := p.Write(&b, f, nil); (err == nil) != f.HasCalls() || (b.Len() > 0) != f.HasCalls() {
			t.Errorf("%v: %d bytes, %v", f, b.Len(), err)
		}
	}
	out := newPprof(p)
	var names []string
	for i, typ := range out.SampleType {
		sum := int64(0)
		for _, sample := range out.Sample {
			sum += sample.Value[i]
		}
		if want := []int64{5, 100, 5}[i]; sum != want {
			t.Errorf("%s: %d, want %d", typ.Type, sum, want)
		}
		names = append(names, typ.Type+"/"+typ.Unit)
	}
	if got := strings.Join(names, " "); got != "calls/count time/nanoseconds sum of time/bytes" {
		t.Error(got)
	}
	if err := out.CheckValid(); err != nil {
		t.Error(err)
	}
	if n := Negative(p); n != 1 {
		t.Errorf("%d stacks below zero", n)
	}
	for v, want := range map[Value]int64{Samples: 5, Wall: 100, Sum: 9} {
		sum := int64(0)
		for _, n := range folded(p, &Options{Value: v}) {
			sum += n
		}
		if sum != want {
			t.Errorf("%v: the folded stacks have %d, want %d", v, sum, want)
		}
	}
}
