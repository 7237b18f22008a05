package profile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

// TestThreadCreateForm: the text form has the stacks of the image that has created most threads, and pprof
// reads it.
func TestThreadCreateForm(t *testing.T) {
	p := New()
	p.Subject, p.Existing = ThreadCreate, 4
	shell, app := p.Space(4, "/bin/shell", starterCode{}), p.Space(4, "/bin/app", starterCode{})
	add := func(s *Space, tid int, n int64, pcs ...uint64) {
		var levels []Addr
		for i, pc := range pcs {
			levels = append(levels, Addr{PC: pc, Kind: [2]Kind{Exact, Return}[min(i, 1)]})
		}
		s.Add(s.Cell(p.Thread(4, tid, "app"), s.Stack(levels)), Values{Samples: n})
	}
	add(shell, 4, 2, 0x9001, 0x1004)
	add(app, 4, 3, 0x9001, 0x1004)
	add(app, 4, 1, 0x9001, 0x1003, 0x1004)
	add(app, 5, 4, 0x9001, 0x1003, 0x1004) // another thread, the same stack
	app.Add(app.Cell(p.Thread(4, 0, "app"), app.Push(0, p.Note("[created before]"))), Values{Samples: 4})
	want := `# thread creation profile: 14 threads, 4 of them existed before
# not here, as addresses are those of another image: 2 threads of /bin/shell (pid 4)
threadcreate profile: total 8
5 @ 0x9001 0x1003 0x1004
#	0x9001	clone3
#	0x1003	fan_out
#	0x1004	main

3 @ 0x9001 0x1004
#	0x9001	clone3
#	0x1004	main

--- Memory map: ---
1000-8000: /bin/app (@0)
9000-a000: /lib/libc.so.6 (@0)
`
	text := write(t, p, Creations, nil)
	if d := cmp.Diff(want, text); d != "" {
		t.Errorf("text form (-want +got):\n%s", d)
	}
	got, err := profile.ParseData([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Sample) != 2 || got.Sample[0].Value[0] != 5 || len(got.Sample[0].Location) != 3 || got.SampleType[0].Type != "threadcreate" {
		t.Errorf("pprof reads %v", got)
	}
	if m := got.Sample[0].Location[1].Mapping; m == nil || m.File != "/bin/app" {
		t.Errorf("a function of the program is in %v", m)
	}
}
