package cursor

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestLEB128(t *testing.T) {
	for _, c := range []struct {
		b        string
		unsigned uint64
		signed   int64
		bad      bool // as an unsigned number
	}{
		{"\x02", 2, 2, false},
		{"\x7f", 127, -1, false},
		{"\x80\x01", 128, 128, false},
		{"\x80\x7f", 16256, -128, false},
		{"\x82\x80\x00", 2, 2, false}, // padded
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", math.MaxUint64, -1, false},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 0, -1, true},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 0, 0, false},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 0, 0, true},
	} {
		u, s := Cursor{B: []byte(c.b)}, Cursor{B: []byte(c.b)}
		if got := u.Uleb(); got != c.unsigned || u.Bad != c.bad || u.Remaining() != 0 {
			t.Errorf("%x unsigned: %d, bad %v, %d bytes left; want %d, bad %v", c.b, got, u.Bad, u.Remaining(), c.unsigned, c.bad)
		}
		if got := s.Sleb(); got != c.signed || s.Bad {
			t.Errorf("%x signed: %d, bad %v; want %d", c.b, got, s.Bad, c.signed)
		}
	}
}

func TestFields(t *testing.T) {
	c := Cursor{B: []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0fname\x00too long\x00"), Addr: 0x1000}
	if a, b, d, e := c.U8(), c.U16(), c.U32(), c.U64(); a != 1 || b != 0x0302 || d != 0x07060504 || e != 0x0f0e0d0c0b0a0908 {
		t.Errorf("%#x %#x %#x %#x", a, b, d, e)
	}
	if c.Pos() != 0x100f || c.CString(7) != "name" || c.CString(7) != "" || c.Bad || c.Remaining() != 0 {
		t.Errorf("after the strings: %+v", c)
	}
	for name, read := range map[string]func(*Cursor) uint64{
		"8": func(c *Cursor) uint64 { return uint64(c.U8()) }, "16": func(c *Cursor) uint64 { return uint64(c.U16()) },
		"24": func(c *Cursor) uint64 { return c.Uint(3) }, "32": func(c *Cursor) uint64 { return uint64(c.U32()) },
		"64": (*Cursor).U64, "uleb": (*Cursor).Uleb, "sleb": func(c *Cursor) uint64 { return uint64(c.Sleb()) },
		"string": func(c *Cursor) uint64 { return uint64(len(c.CString(9))) },
	} {
		if end := c; read(&end) != 0 || !end.Bad || end.Remaining() != 0 {
			t.Errorf("%s bits beyond the end: %+v", name, end)
		}
	}
	wide := Cursor{B: binary.LittleEndian.AppendUint64([]byte("\xff\xff\xff\xff"), 77)}
	if n, size := wide.Length(); n != 77 || size != 8 {
		t.Errorf("length %d, offsets of %d bytes", n, size)
	}
}

// FuzzCursor reads anything in any order: no read goes beyond the end, and all of them come to one.
func FuzzCursor(f *testing.F) {
	f.Add([]byte("\x80\x80\x01abc\x00\xff\xff\xff\xff"), []byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Fuzz(func(t *testing.T, b, order []byte) {
		c := Cursor{B: b}
		for _, o := range order {
			before := c.Off
			switch o % 8 {
			case 0:
				c.U8()
			case 1:
				c.U16()
			case 2:
				c.U64()
			case 3:
				c.Uleb()
			case 4:
				c.Sleb()
			case 5:
				c.CString(3)
			case 6:
				c.Length()
			case 7:
				c.Skip(uint64(o) << 56)
			}
			if c.Off < before || c.Off > uint64(len(b)) {
				t.Fatalf("from %d to %d of %d", before, c.Off, len(b))
			}
		}
	})
}
