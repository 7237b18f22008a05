package elfsym

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"ptools/internal/patience"
)

func mustOpen(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// copies makes n different files with the same contents.
func copies(t *testing.T, from string, n int) []string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	paths := make([]string, n)
	dir := t.TempDir()
	for i := range paths {
		paths[i] = filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(paths[i], b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

func TestCacheIdentity(t *testing.T) {
	path := copies(t, installed(t, "/lib64/ld-linux-x86-64.so.2"), 1)[0]
	link := path + ".link"
	if err := os.Link(path, link); err != nil {
		t.Fatal(err)
	}
	c := NewCache(4)
	defer c.Close()
	var wg sync.WaitGroup
	files := make([]*File, 16)
	for i := range files {
		wg.Go(func() {
			p := path
			if i%2 == 1 {
				p = link
			}
			f, err := os.Open(p)
			if err != nil {
				t.Error(err)
				return
			}
			if files[i], err = c.Open(f, p, nil); err != nil {
				t.Error(err)
			}
			files[i].Symbol(files[i].Entry())
			files[i].ByName("_dl_debug_state")
		})
	}
	wg.Wait()
	for _, f := range files {
		if f != files[0] {
			t.Fatal("the same file was read twice")
		}
	}
	// If it is written again, it is another file.
	if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if f, err := c.Open(mustOpen(t, path), path, nil); err != nil || f == files[0] {
		t.Errorf("changed file: the same %v, %v", f == files[0], err)
	}
}

// TestCacheEviction uses a file after its eviction, and checks that its
// descriptor is closed when it is no longer used.
func TestCacheEviction(t *testing.T) {
	paths := copies(t, installed(t, "/lib64/ld-linux-x86-64.so.2"), 8)
	before := descriptors(t)
	c := NewCache(2)
	first, err := c.Open(mustOpen(t, paths[0]), paths[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths[1:] {
		if _, err := c.Open(mustOpen(t, p), p, nil); err != nil {
			t.Fatal(err)
		}
	}
	if c.Len() != 2 {
		t.Errorf("%d files in a cache of 2", c.Len())
	}
	if s := first.ByName("_dl_debug_state"); len(s) != 1 {
		t.Errorf("the evicted file does not answer: %+v", s)
	}
	runtime.KeepAlive(first)
	c.Close()
	// The runtime closes what has no reference some time after a collection.
	deadline := time.Now().Add(time.Minute)
	for descriptors(t) > before {
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors, %d before", descriptors(t), before)
		}
		runtime.GC()
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc on this machine")
	}
	return len(d)
}

func TestCacheErrors(t *testing.T) {
	c := NewCache(2)
	defer c.Close()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, "/dev/null", t.TempDir()} {
		before := descriptors(t)
		f, err := c.Open(mustOpen(t, path), path, nil)
		if f != nil || !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v %v", path, f, err)
		}
		if n := descriptors(t); n > before { // a file of another test may be collected meanwhile
			t.Errorf("%s: %d descriptors, %d before", path, n, before)
		}
	}
}

// TestHungHeaders: if a file's headers do not come, the error does not say that they are
// invalid.
func TestHungHeaders(t *testing.T) {
	p := new(Patient)
	p.hung.Store(true)
	if _, err := New(p, 4096, "hung", nil); !errors.Is(err, patience.ErrHung) {
		t.Errorf("error %v", err)
	}
}
