package handle

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ptools/internal/elfsym"
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
