package flame_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptools/internal/profile"
)

// firefoxFile is the part of the format that the test reads.
type firefoxFile struct {
	Threads []struct {
		Name string
		PID  string
		TID  int

		RegisterTime   float64
		UnregisterTime *float64

		Samples struct {
			Length     int
			Stack      []*int
			Time       []float64
			Weight     []float64
			WeightType string
		}
		StackTable  struct{ Frame, Prefix []*int }
		FrameTable  struct{ Func []int }
		FuncTable   struct{ Name []int }
		StringArray []string
	}
}

// TestFirefox: the weights of a thread's samples add up to the counts of its stacks, in the order
// of time.
func TestFirefox(t *testing.T) {
	for _, v := range []profile.Value{profile.Samples, profile.CPU} {
		p := timed(9)
		var out, folded bytes.Buffer
		if err := p.Write(&out, profile.Firefox, &profile.Options{Value: v}); err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("PTOOLS_SHOTS"); dir != "" {
			os.WriteFile(filepath.Join(dir, v.String()+".firefox.json"), out.Bytes(), 0o666)
		}
		var f firefoxFile
		if err := json.Unmarshal(out.Bytes(), &f); err != nil {
			t.Fatal(err)
		}
		got := make(map[string]float64)
		for _, th := range f.Threads {
			s, last := th.Samples, 0.0
			if s.Length != len(s.Stack) || s.Length != len(s.Weight) || s.Length != len(s.Time) {
				t.Errorf("%d samples with %d stacks, %d weights, %d times", s.Length, len(s.Stack), len(s.Weight), len(s.Time))
			}
			if th.RegisterTime != s.Time[0] || th.UnregisterTime == nil || *th.UnregisterTime != s.Time[s.Length-1] {
				t.Errorf("a thread from %v to %v with samples from %v", th.RegisterTime, th.UnregisterTime, s.Time[0])
			}
			for i, stack := range s.Stack {
				if s.Time[i] < last {
					t.Errorf("a sample at %v after one at %v", s.Time[i], last)
				}
				last = s.Time[i]
				var names []string
				for ; stack != nil; stack = th.StackTable.Prefix[*stack] {
					names = append(names, th.StringArray[th.FuncTable.Name[th.FrameTable.Func[*th.StackTable.Frame[*stack]]]])
				}
				if len(names) > 0 {
					for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
						names[i], names[j] = names[j], names[i]
					}
					got[fmt.Sprintf("%s (tid %d);%s", th.Name, th.TID, strings.Join(names, ";"))] += s.Weight[i]
				}
			}
		}
		o := &profile.Options{Value: v, Threads: true}
		if err := p.Write(&folded, profile.Folded, o); err != nil {
			t.Fatal(err)
		}
		lines := 0
		for line := range strings.Lines(folded.String()) {
			lines++
			i := strings.LastIndexByte(line, ' ')
			var want float64
			fmt.Sscan(line[i:], &want)
			if v == profile.CPU {
				want /= 1e6
			}
			if math.Abs(got[line[:i]]-want) > 1e-6*want {
				t.Errorf("%v: %s counts %v, want %v", v, line[:i], got[line[:i]], want)
			}
		}
		if lines < 100 || len(got) != lines {
			t.Errorf("%d stacks, want %d", len(got), lines)
		}
	}
}

// timed is a profile with a timeline, in which half of the stacks of each thread have no time.
func timed(seed uint64) *profile.Profile {
	p := profile.New()
	p.Timeline, p.Duration, p.Period, p.Start = true, 20*time.Second, 10*time.Millisecond, time.Unix(1700000000, 0)
	c := &code{object: "/usr/bin/target"}
	for i := range 50 {
		c.names = append(c.names, fmt.Sprintf("f%d", i))
	}
	s := p.Space(1, c.object, c)
	for i := range 1000 {
		pc := func(n int) profile.Addr {
			return profile.Addr{PC: uint64((i*n + int(seed)) % 50 * 16), Kind: profile.Return}
		}
		stack := s.Stack([]profile.Addr{pc(7), pc(3), pc(1)})
		cell := s.Cell(p.Thread(1, i%3+1, "t"), stack)
		at := time.Duration(i) * p.Period
		v := profile.Values{Samples: int64(i%5 + 1), CPU: int64(i * 1001), Wall: int64(p.Period)}
		if i%2 == 0 {
			s.AddDuring(cell, v, at, at+p.Period, true)
		} else {
			s.Add(cell, v)
		}
	}
	return p
}
