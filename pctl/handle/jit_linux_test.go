package handle

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ptools/internal/elfsym"
	"ptools/internal/procfs"
)

// TestListIsNoLink: a list of functions is read only from a file of that name, and not through a link. Any user
// may make such a link to a file of root.
func TestListIsNoLink(t *testing.T) {
	list := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	elsewhere := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(elsewhere, []byte("1000 10 f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := newSource(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer src.root.Close()
	for _, test := range []struct {
		make func(old, name string) error
		want bool
	}{{os.Symlink, false}, {os.Link, true}} {
		if err := test.make(elsewhere, list); err != nil {
			t.Fatal(err)
		}
		j := jitMap{pid: os.Getpid(), files: new(elfsym.Cache)}
		f := j.open(src)
		if f != nil {
			f.Close()
		}
		if err := os.Remove(list); err != nil {
			t.Fatal(err)
		}
		if (f != nil) != test.want {
			t.Errorf("opened: %v, want %v", f != nil, test.want)
		}
	}
}

// TestReusedList: that functions of a list have the same addresses is said when one of them is met, once.
func TestReusedList(t *testing.T) {
	list := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	if err := os.WriteFile(list, []byte("1000 10 alpha\n2000 10 other\n1000 10 beta\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(list)
	src, err := newSource(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer src.root.Close()
	j := jitMap{pid: os.Getpid(), files: elfsym.NewCache(1), alone: true, sought: new(mapState)}
	defer j.close()
	for _, test := range []struct {
		pc   uint64
		name string
		told int
	}{{0x2000, "other", 0}, {0x1000, "beta", 1}, {0x1008, "beta", 0}} {
		sym, _ := j.lookup(src, nil, test.pc)
		if told := j.files.Refused(); sym.Name != test.name || len(told) != test.told {
			t.Errorf("%#x is %q, told %v", test.pc, sym.Name, told)
		}
	}
}

// TestListOfAnother: a list that was written before the process began is of an earlier process with its number, and is not used.
func TestListOfAnother(t *testing.T) {
	list := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	if err := os.WriteFile(list, []byte("1000 10 f\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(list)
	src, err := newSource(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer src.root.Close()
	st, err := procfs.ReadStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-procfs.Age(st.StartTime))
	for _, test := range []struct {
		written time.Time
		used    bool
	}{{began, true}, {began.Add(-clockSlack - time.Second), false}} {
		if err := os.Chtimes(list, test.written, test.written); err != nil {
			t.Fatal(err)
		}
		j := jitMap{pid: os.Getpid(), files: new(elfsym.Cache)}
		f := j.open(src)
		if f != nil {
			f.Close()
		}
		if told := len(j.files.Refused()) == 1; (f != nil) != test.used || told == test.used {
			t.Errorf("written %v after the start: used %v, told %v", test.written.Sub(began), f != nil, told)
		}
	}
}
