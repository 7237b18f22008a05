package elfsym

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// limitDescriptors sets the soft limit of descriptors for the duration of a test.
func limitDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	few := old
	few.Cur = n
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) })
}

// TestFewDescriptors opens more files than there are descriptors. All can be read even after
// they have been deleted.
func TestFewDescriptors(t *testing.T) {
	const limit, most = 64, 64/4 + 1 // and that of /proc/self/mem
	paths := copies(t, installed(t, "/lib64/ld-linux-x86-64.so.2"), 2*limit)
	collectFiles()
	before := descriptors(t)
	limitDescriptors(t, limit)
	c := NewCache(len(paths))
	defer c.Close()
	files := make([]*File, len(paths))
	for i, p := range paths {
		var err error
		if files[i], err = c.Open(mustOpen(t, p), p, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
	if n := descriptors(t) - before; n > most {
		t.Errorf("%d descriptors for %d files", n, len(files))
	}
	want := files[0].ByName("_dl_debug_state")
	for i, f := range files {
		if s := f.ByName("_dl_debug_state"); len(s) != 1 || !slices.Equal(s, want) {
			t.Errorf("file %d has %+v, want %+v", i, s, want)
		}
	}
	c.Close()
	if n := descriptors(t); n != before || ownMemory.users != 0 {
		t.Errorf("%d descriptors, %d before; %d mappings", n, before, ownMemory.users)
	}
	if _, ok := files[len(files)-1].file.bytes(0, 16); ok {
		t.Error("a closed file was read")
	}
}

// collectFiles has the files of earlier tests closed, which are garbage by now: a File is closed when its last holder is gone.
func collectFiles() {
	for range 3 { // a file may be held by another one
		cleaned := make(chan bool)
		runtime.AddCleanup(new([64]byte), func(c chan bool) { close(c) }, cleaned)
		runtime.GC()
		<-cleaned
	}
}

// TestMappedFileShrinks: reading a lost part of a mapped file is an error, and raises no signal.
func TestMappedFileShrinks(t *testing.T) {
	path := copies(t, installed(t, "/lib64/ld-linux-x86-64.so.2"), 1)[0]
	f := mustOpen(t, path)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMapped(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	b, want := make([]byte, info.Size()), make([]byte, info.Size())
	f.ReadAt(want, 0)
	if n, err := m.ReadAt(b, 0); n != len(b) || err != nil || !slices.Equal(b, want) {
		t.Errorf("%d bytes of %d, %v", n, len(b), err)
	}
	if n, err := m.ReadAt(b[:2], info.Size()-1); err == nil {
		t.Errorf("past the end: %d bytes", n)
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	page := int64(os.Getpagesize())
	if n, err := m.ReadAt(b[:1], page); err == nil {
		t.Errorf("truncated: %d bytes", n)
	}
}

// TestMappedFileForgotten: a mapping without references is unmapped.
func TestMappedFileForgotten(t *testing.T) {
	path := copies(t, installed(t, "/lib64/ld-linux-x86-64.so.2"), 1)[0]
	f := mustOpen(t, path)
	defer f.Close()
	if _, err := newMapped(f, 100); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; runtime.GC() {
		ownMemory.mu.Lock()
		users := ownMemory.users
		ownMemory.mu.Unlock()
		if users == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d mappings", users)
		}
	}
}
