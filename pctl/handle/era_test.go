package handle

import (
	"fmt"
	"strings"
	"testing"

	"ptools/internal/procfs"
)

// TestEras replaces code by other code. Each address of each era leads to the code that it had then.
func TestEras(t *testing.T) {
	code := func(start, end uint64, path string) procfs.Map {
		m := procfs.Map{Start: start, End: end, Perm: procfs.Read | procfs.Exec, Path: path}
		if path != "" {
			m.Major, m.Inode = 1, uint64(path[0])
		}
		return m
	}
	s := Unreadable(1, nil)
	type place struct {
		at   uint64
		era  Era
		path string
	}
	was := make(map[place]bool)
	for _, step := range []struct {
		whole bool // the map is read; otherwise one mapping is reported
		maps  []procfs.Map
		eras  string
	}{
		{true, []procfs.Map{code(10, 20, "a"), code(30, 40, "b")}, "10-20 a 0 30-40 b 0"},
		{false, []procfs.Map{code(50, 60, "c")}, "10-20 a 0 30-40 b 0 50-60 c 0"},
		{false, []procfs.Map{code(10, 20, "a")}, "10-20 a 0 30-40 b 0 50-60 c 0"},
		{false, []procfs.Map{code(12, 16, "d")}, "10-12 a 0 12-16 d 1 16-20 a 0 30-40 b 0 50-60 c 0"},
		{false, []procfs.Map{code(10, 20, "a")}, "10-20 a 0 30-40 b 0 50-60 c 0"},
		{false, []procfs.Map{code(12, 16, "d")}, "10-12 a 0 12-16 d 1 16-20 a 0 30-40 b 0 50-60 c 0"},
		{true, []procfs.Map{code(30, 40, "b")}, "30-40 b 0"},
		{true, []procfs.Map{code(14, 35, "e")}, "14-35 e 2"},
		{true, nil, ""},
		{true, []procfs.Map{code(12, 16, "f"), code(30, 40, "b"), code(50, 60, "c")}, "12-16 f 3 30-40 b 0 50-60 c 0"},
		{false, []procfs.Map{code(30, 40, "")}, "12-16 f 3 30-40  4 50-60 c 0"},
	} {
		if step.whole {
			old := s.now.Load()
			state := build(step.maps, old.images)
			state.inherit(old)
			s.now.Store(state)
		} else {
			s.Take(step.maps[0])
		}
		var b strings.Builder
		for i := range s.now.Load().regions {
			r := &s.now.Load().regions[i]
			fmt.Fprintf(&b, "%d-%d %s %d ", r.Start, r.End, r.Path, r.era)
			for at := r.Start; at < r.End; at++ {
				was[place{at, s.Now().EraOf(at), r.Path}] = true
			}
		}
		if got := strings.TrimSpace(b.String()); got != step.eras {
			t.Errorf("%v: %s, want %s", step.maps, got, step.eras)
		}
		for w := range was {
			if r := s.Then(w.at, w.era).state.find(w.at); r == nil || r.Path != w.path {
				t.Errorf("%v: not found: %v", step.maps, w)
			}
		}
	}
	if s.Now().EraOf(5) != noEra || s.Then(5, noEra).Knows(5) || s.Then(55, 7).Knows(55) {
		t.Error("there is code that never was")
	}
}

// TestManyErasAreForgotten: code that was replaced long ago is in no code, rather than in other code.
func TestManyErasAreForgotten(t *testing.T) {
	s := Unreadable(1, nil)
	for i := range uint64(2 * mostPast) {
		s.Take(procfs.Map{Start: 10, End: 20, Perm: procfs.Exec, Inode: i + 1, Path: fmt.Sprint(i)})
	}
	if s.Then(15, 0).Knows(15) || !s.Then(15, s.Now().EraOf(15)).Knows(15) || len(s.now.Load().past) > mostPast {
		t.Errorf("%d remembered", len(s.now.Load().past))
	}
	s.Take(procfs.Map{Start: 30, End: 40, Perm: procfs.Exec, Inode: 1, Path: "0"})
	if s.Now().EraOf(35) == 0 {
		t.Error("other code may have been there in era 0")
	}
}
