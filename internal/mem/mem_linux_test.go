package mem

import (
	"encoding/binary"
	"errors"
	"strconv"
	"syscall"
	"testing"
)

func TestReadAt(t *testing.T) {
	c := start(t)
	for _, r := range []struct {
		off, size, want int
		err             error
	}{
		{0, 1, 1, nil},
		{100, page, page, nil},
		{0, 2 * page, 2 * page, nil},
		{2*page - 8, 16, 16, nil}, // PROT_NONE: only /proc/PID/mem can read it
		{0, 3 * page, 3 * page, nil},
		{2 * page, 2 * page, page, syscall.EFAULT}, // the unmapped page
		{3*page - 10, 20, 10, syscall.EFAULT},
		{3 * page, 8, 0, syscall.EFAULT},
		{4 * page, 2 * page, 2 * page, nil},
		{0, 0, 0, nil},
	} {
		if !Forces() && r.off+r.want > 2*page && r.off < 3*page {
			continue // the page without permission
		}
		b := make([]byte, r.size)
		n, err := c.mem.ReadAt(b, int64(c.at)+int64(r.off))
		if n != r.want || err != r.err {
			t.Errorf("ReadAt(%d bytes at %d) = %d, %v; want %d, %v", r.size, r.off, n, err, r.want, r.err)
		}
		check(t, b[:n], r.off)
	}
	for _, addr := range []uint64{0, 1<<64 - 4096, 1 << 63, 0xffffffffff600000} {
		if n, err := c.mem.ReadAt(make([]byte, 8), int64(addr)); n != 0 || err != syscall.EFAULT {
			t.Errorf("ReadAt(%#x) = %d, %v; want EFAULT", addr, n, err)
		}
	}
}

// TestUser: reads and writes of a User stop where the process would fault.
func TestUser(t *testing.T) {
	c := start(t)
	u := c.mem.User()
	b := make([]byte, 16)
	if n, err := u.ReadAt(b, int64(c.at)); n != 16 || err != nil {
		t.Errorf("ReadAt = %d, %v", n, err)
	}
	check(t, b, 0)
	if n, err := u.ReadAt(b, int64(c.at)+2*page); n != 0 || err != syscall.EFAULT {
		t.Errorf("ReadAt of a page without permission = %d, %v; want EFAULT", n, err)
	}
	if n, err := u.WriteAt(b, int64(c.at)+2*page); n != 0 || err != syscall.EFAULT {
		t.Errorf("WriteAt to a page without permission = %d, %v; want EFAULT", n, err)
	}
	if n := testing.AllocsPerRun(10, func() { u.ReadAt(b, int64(c.at)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestReadVec(t *testing.T) {
	c := start(t)
	// More ranges than one call takes, with a hole now and then: a range in
	// the unmapped page, one that ends in it, an empty one.
	const ranges = 3*iovMax + 17
	var dst [][]byte
	var addrs []uint64
	var offs, want []int
	total := 0
	add := func(off, size, readable int) {
		dst = append(dst, make([]byte, size))
		addrs = append(addrs, c.at+uint64(off))
		offs = append(offs, off)
		want = append(want, readable)
		total += readable
	}
	for i := range ranges {
		switch {
		case i%97 == 5:
			add(3*page+i%100, 8, 0)
		case i%89 == 3 && Forces():
			add(3*page-20, 64, 20)
		case i%11 == 0:
			add(0, 0, 0)
		case i%13 == 0 && Forces():
			add(2*page+i%1000, 32, 32)
		default:
			add(i%(2*page-40), 40, 40)
		}
	}
	n, err := c.mem.ReadVec(dst, addrs)
	if n != total || err != syscall.EFAULT {
		t.Errorf("ReadVec = %d, %v; want %d, EFAULT", n, err, total)
	}
	for i := range dst {
		if len(dst[i]) != want[i] {
			t.Errorf("range %d has %d bytes, want %d", i, len(dst[i]), want[i])
		}
		check(t, dst[i], offs[i])
	}
	if n, err := c.mem.ReadVec(nil, nil); n != 0 || err != nil {
		t.Errorf("ReadVec of nothing = %d, %v", n, err)
	}
}

// TestReadVecNeighbours: ranges that lie next to each other are read in one piece, and are what they are by themselves, at a hole too.
func TestReadVecNeighbours(t *testing.T) {
	c := start(t)
	readable := func(off int) bool { return off/page < 2 || off/page == 2 && Forces() || off/page == 4 }
	for _, gap := range []int{0, 1, 8, between - 1, between, between + 1, -8} {
		for _, size := range []int{1, 40, 408, page, page + 100} {
			var dst [][]byte
			var addrs []uint64
			var offs, want []int
			total := 0
			for off := 0; off+size <= 5*page; off += max(size+gap, 1) {
				n := 0
				for n < size && readable(off+n) {
					n++
				}
				dst, addrs, offs, want = append(dst, make([]byte, size)), append(addrs, c.at+uint64(off)), append(offs, off), append(want, n)
				total += n
			}
			if n, err := c.mem.ReadVec(dst, addrs); n != total || err != syscall.EFAULT {
				t.Errorf("%d bytes at a distance of %d: ReadVec = %d, %v; want %d, EFAULT", size, gap, n, err, total)
			}
			for i := range dst {
				if len(dst[i]) != want[i] {
					t.Errorf("%d bytes at a distance of %d: range %d has %d, want %d", size, gap, i, len(dst[i]), want[i])
				}
				check(t, dst[i], offs[i])
			}
		}
	}
}

func TestWriteAt(t *testing.T) {
	if !Forces() {
		t.Skip("this kernel lets only a tracer write to a read-only page")
	}
	c := start(t)
	if n, err := c.mem.WriteAt([]byte{42}, int64(c.at+4*page)); n != 1 || err != nil {
		t.Fatalf("WriteAt to a read-only page = %d, %v", n, err)
	}
	c.say("peek")
	if got := c.number(); got != 42 {
		t.Errorf("the target sees %d, want 42", got)
	}
	if n, err := c.mem.WriteAt(make([]byte, 20), int64(c.at+3*page-10)); n != 10 || err != syscall.EFAULT {
		t.Errorf("WriteAt into a hole = %d, %v; want 10, EFAULT", n, err)
	}
}

func TestReadUint64(t *testing.T) {
	c := start(t)
	var b [8]byte
	_, err := c.mem.ReadAt(b[:], int64(c.at+8))
	word, err2 := ReadUint64(c.mem, c.at+8)
	if err := errors.Join(err, err2); err != nil || word != binary.LittleEndian.Uint64(b[:]) {
		t.Errorf("%#x is %x: %v", word, b, err)
	}
	if _, err := ReadUint64(c.mem, c.at+3*page-4); err != syscall.EFAULT {
		t.Errorf("a word of which half is readable: %v, want EFAULT", err)
	}
}

func TestAllocs(t *testing.T) {
	c := start(t)
	b := make([]byte, 64)
	dst := [][]byte{b[:8], b[8:16]}
	addrs := []uint64{c.at, c.at + 100}
	n := testing.AllocsPerRun(100, func() {
		c.mem.ReadAt(b, int64(c.at))
		c.mem.ReadAt(b, int64(c.at+3*page)) // fails
		c.mem.WriteAt(b[:1], int64(c.at))
		c.mem.ReadVec(dst, addrs)
		c.mem.Stale()
	})
	if n != 0 && !raceEnabled {
		t.Errorf("%v allocations a round, want none", n)
	}
}

func BenchmarkRead(b *testing.B) {
	c := start(b)
	for _, size := range []int{8, page, 2 * page} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.ReportAllocs()
			p := make([]byte, size)
			for b.Loop() {
				c.mem.ReadAt(p, int64(c.at))
			}
		})
	}
	b.Run("vec64x64", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, page)
		var dst [64][]byte
		var addrs [64]uint64
		for b.Loop() {
			for i := range dst {
				dst[i], addrs[i] = buf[64*i:64*i+64], c.at+uint64(64*i)
			}
			c.mem.ReadVec(dst[:], addrs[:])
		}
	})
	b.Run("stale", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.mem.Stale()
		}
	})
}
