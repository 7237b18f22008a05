package mem

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
)

// unserved starts a target half of whose pages do not come, and returns where that half begins.
func unserved(t *testing.T) (g *ptest.Target, half int64) {
	t.Helper()
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, 0, 0, 0)
	if errno != 0 {
		t.Skip("userfaultfd, for faults of the kernel: ", errno)
	}
	unix.Close(int(fd))
	g = ptest.Start(t, ptest.BuildC(t, "unserved.c"))
	g.Ready()
	half, err := strconv.ParseInt(g.Line(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return g, half
}

// TestAbsentPages: a read that meets a page which does not come returns what is before that, and later reads do not ask for
// it. A write there fails, and does not take place later. When the page has come, all can be read.
func TestAbsentPages(t *testing.T) {
	for _, quick := range []bool{false, true} {
		g, half := unserved(t)
		p, err := OpenPatient(g.PID)
		if err != nil {
			t.Fatal(err)
		}
		read := p.ReadAt
		if quick {
			read = p.Quick().ReadAt
		}
		size := int64(pageSize)
		b := make([]byte, 4*size)
		for range 3 {
			clear(b)
			n, err := read(b, half-2*size)
			if int64(n) != 2*size || err != ErrAbsent || !bytes.Equal(b[:2*size], bytes.Repeat([]byte{1}, int(2*size))) {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
		if n, err := p.User().ReadAt(b[:8], half+8); n != 0 || err != ErrAbsent {
			t.Errorf("%d bytes, %v", n, err)
		}
		if n, err := p.WriteAt([]byte{7}, half+5); n != 0 || err != ErrAbsent {
			t.Errorf("%d bytes written, %v", n, err)
		}
		if n, err := p.WriteAt([]byte{7}, half-5); n != 1 || err != nil {
			t.Errorf("%d bytes written, %v", n, err)
		}
		p.mu.Lock()
		if p.left != 1 {
			t.Errorf("%d reads are left behind, want 1", p.left)
		}
		p.mu.Unlock()
		if _, err := g.Stdin.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		g.WaitFor("the pages", func() bool {
			n, err := p.ReadAt(b, half-2*size)
			return int64(n) == 4*size && err == nil && b[2*size-5] == 7 && b[2*size+5] == 0
		})
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if n, err := p.ReadAt(b, half); n != 0 || err == nil {
			t.Errorf("%d bytes of a closed Patient, %v", n, err)
		}
	}
}

// TestClosedWhileAbsent: Close does not wait for a read that does not end.
func TestClosedWhileAbsent(t *testing.T) {
	g, half := unserved(t)
	p, err := OpenPatient(g.PID)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.ReadAt(make([]byte, 8), half); n != 0 || err != ErrAbsent {
		t.Errorf("%d bytes, %v", n, err)
	}
	closed := make(chan error)
	go func() { closed <- p.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Close waits for the read")
	}
	g.Kill()
	g.WaitFor("the end of the read", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.left == 0
	})
}

func BenchmarkPatient(b *testing.B) {
	for _, size := range []int{64, 16 << 10} {
		for _, way := range []string{"direct", "quick", "apart"} {
			b.Run(way+"/"+strconv.Itoa(size), func(b *testing.B) {
				g := ptest.Start(b, ptest.BuildC(b, "unserved.c"))
				g.Ready()
				half, _ := strconv.ParseInt(g.Line(), 10, 64)
				m, err := Open(g.PID)
				if err != nil {
					b.Fatal(err)
				}
				p := m.Patiently()
				defer p.Close()
				buf := make([]byte, size)
				read := p.ReadAt
				switch way {
				case "direct":
					read = m.ReadAt
				case "quick":
					read = p.Quick().ReadAt
				}
				for b.Loop() {
					if _, err := read(buf, half-int64(size)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// TestAbsentRanges: a ReadVec that meets a page which does not come reads all ranges but that.
func TestAbsentRanges(t *testing.T) {
	g, half := unserved(t)
	p, err := OpenPatient(g.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range 3 {
		dst := [][]byte{make([]byte, 16), make([]byte, 16), make([]byte, 16), nil}
		n, err := p.ReadVec(dst, []uint64{uint64(half) - 64, uint64(half) - 8, uint64(half) - 32, uint64(half)})
		if n != 40 || err != ErrAbsent || len(dst[0]) != 16 || len(dst[1]) != 8 || len(dst[2]) != 16 || !bytes.Equal(dst[1], bytes.Repeat([]byte{1}, 8)) {
			t.Errorf("%d bytes, %v, %x", n, err, dst)
		}
	}
	g.Kill()
	g.WaitFor("the end of the reads", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.left == 0
	})
}
