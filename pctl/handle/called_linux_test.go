package handle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ptools/internal/ptest"
)

// TestNamed: an object goes by what its file is called, and else by what the library calls itself, and the name by which the program
// was executed, as redis-server is a link to redis-check-rdb in distributions, and libstdc++.so.6 one to libstdc++.so.6.0.30.
func TestNamed(t *testing.T) {
	dir := filepath.Dir(ptest.Copy(t, ptest.BuildC(t, "idle.c")))
	program, link := filepath.Join(dir, "idle"), filepath.Join(dir, "executed-by")
	library := filepath.Join(dir, "librenamed-2.31.so.1.4")
	err := errors.Join(os.Symlink("idle", link),
		os.Rename(ptest.Copy(t, ptest.BuildC(t, "testdata/plugin.c", "-shared", "-fPIC", "-Wl,-soname,libcalled.so.6")), library))
	if err != nil {
		t.Fatal(err)
	}
	target := ptest.StartWith(t, &ptest.Options{Env: []string{"LD_PRELOAD=" + library}}, link)
	target.Ready()
	s := newSpace(t, target.PID)
	for _, c := range []struct {
		path  string
		names []string
	}{
		{library, []string{"librenamed-2.31.so.1.4", "librenamed-2.31.so.1", "librenamed-2.31.so", "librenamed-2.31", "libcalled.so.6", "libcalled.so", "libcalled", library}},
		{program, []string{"idle", "executed-by", "a.out", program, link}},
	} {
		for _, name := range c.names {
			found := s.Named(name)
			if len(found) != 1 || found[0].Path != c.path {
				t.Errorf("%s: %+v, not %s", name, found, c.path)
				continue
			}
			if names := s.Names(&found[0]); !slices.Contains(names, name) {
				t.Errorf("names of %s: %q, not %s", c.path, names, name)
			}
		}
	}
	for _, name := range []string{"libcalled.so.7", "libcall", "executed", "librenamed"} {
		if found := s.Named(name); len(found) > 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
