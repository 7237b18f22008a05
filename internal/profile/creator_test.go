package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// starterCode has a path into the kernel through the C library, one in a
// static program, and functions that want threads.
type starterCode struct{}

func (starterCode) Resolve(a Addr, dst []Frame) ([]Frame, Mapping) {
	app := Mapping{Start: 0x1000, Limit: 0x8000, Path: "/bin/app"}
	libc := Mapping{Start: 0x9000, Limit: 0xa000, Path: "/lib/libc.so.6"}
	switch a.PC {
	case 0x9001:
		return append(dst, Frame{Func: "clone3"}), libc
	case 0x9002:
		return dst, libc // a local function of a stripped library
	case 0x9003:
		return append(dst, Frame{Func: "timer_create"}), libc
	case 0x1001:
		return append(dst, Frame{Func: "__clone"}), app
	case 0x1002:
		return append(dst, Frame{Func: "std::thread::spawn"}), app
	case 0x1003:
		return append(dst, Frame{Func: "fan_out"}), app
	case 0x1004:
		return append(dst, Frame{Func: "main"}), app
	}
	return dst, app
}

// TestCreator: the common beginning of all stacks of thread creations is not
// counted.
func TestCreator(t *testing.T) {
	p := New()
	p.Subject = ThreadCreate
	s := p.Space(4, "/bin/app", starterCode{})
	add := func(n int64, pcs ...uint64) {
		var levels []Addr
		for i, pc := range pcs {
			kind := Return
			if i == 0 {
				kind = Exact
			}
			levels = append(levels, Addr{PC: pc, Kind: kind})
		}
		s.Add(s.Cell(p.Thread(4, 4, "app"), s.Stack(levels)), Values{Samples: n})
	}
	add(5, 0x9001, 0x9002, 0x1003, 0x1004)
	add(3, 0x1001, 0x1002, 0x1003, 0x1004)
	add(1, 0x9001, 0x9003, 0x1004)
	add(1, 0x9001)
	want := `app (pid 4): 0.0 s, 10 threads created

created self  created total  function
    80.00%      80.00%  fan_out
    10.00%      90.00%  main
    10.00%      10.00%  clone3
`
	if d := cmp.Diff(want, write(t, p, Text, &Options{OnStack: true})); d != "" {
		t.Errorf("text output (-want +got):\n%s", d)
	}
	want = `clone3 1
main;fan_out;[unknown] (libc.so.6);clone3 5
main;fan_out;std::thread::spawn;__clone 3
main;timer_create;clone3 1
`
	if d := cmp.Diff(want, write(t, p, Folded, nil)); d != "" {
		t.Errorf("folded output has whole stacks (-want +got):\n%s", d)
	}
}
