package handle

import (
	"io/fs"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/ptest"
	"ptools/internal/unwind"
)

// TestLoaded compares what memory tells of the objects of a program with their files: exported functions, and where
// functions begin by their tables.
func TestLoaded(t *testing.T) {
	for name, exe := range map[string]string{
		"pie":    ptest.BuildC(t, "idle.c", "-rdynamic"),
		"no-pie": ptest.BuildC(t, "idle.c", "-rdynamic", "-no-pie"),
		"musl":   ptest.BuildMusl(t, "../../internal/unwind/testdata/chain.c", "-rdynamic"),
		"static": ptest.BuildC(t, "idle.c", "-static"),
	} {
		g := ptest.Start(t, exe)
		g.Ready()
		files := elfsym.NewCache(10)
		s, err := NewSpace(g.PID, files)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		told := 0
		for _, o := range s.now.Load().objects {
			if o.id.special != "" {
				continue
			}
			file, err := s.open(o)
			if err != nil {
				t.Fatal(err)
			}
			loaded, err := s.openLoaded(o, fs.ErrPermission)
			if err != nil {
				t.Fatalf("%s: %s: %v", name, o.path, err)
			}
			if told++; loaded.BuildID() != file.BuildID() || loaded.Entry() != file.Entry() {
				t.Errorf("%s: %s: build id %s, want %s", name, o.path, loaded.BuildID(), file.BuildID())
			}
			table, want := unwind.NewTable(loaded), unwind.NewTable(file)
			seen := 0
			if _, _, ok := loaded.Section(".eh_frame_hdr"); !ok && (name == "musl" || name == "static") {
				seen++ // no program header leads to the tables
				table = want
			}
			for _, seg := range file.Segments() {
				for at := seg.Vaddr; at < seg.Vaddr+seg.Filesz; at += 977 {
					start, ok := table.Start(at)
					if wantStart, wantOK := want.Start(at); start != wantStart || ok != wantOK {
						t.Fatalf("%s: %s: a function at %#x begins at %#x %v, want %#x %v", name, o.path, at, start, ok, wantStart, wantOK)
					} else if ok {
						seen++
					}
				}
			}
			if seen == 0 {
				t.Errorf("%s: %s: no function", name, o.path)
			}
			for _, symbol := range []string{"main", "malloc", "__tls_get_addr"} {
				got, want := loaded.ByName(symbol), file.ByName(symbol)
				if name == "static" {
					want = nil // it exports nothing
				}
				if len(want) > 0 && (len(got) == 0 || got[0].Addr != want[0].Addr) {
					t.Errorf("%s: %s: %s: %v, want %v", name, o.path, symbol, got, want)
				}
			}
		}
		if n := len(files.Refused()); n != told || len(files.Refused()) != 0 {
			t.Errorf("%s: %d files told of %d", name, n, told)
		}
	}
}
