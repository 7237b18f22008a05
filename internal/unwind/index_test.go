package unwind

import (
	"encoding/binary"
	"testing"
)

// TestSearchTable: the search table of .eh_frame_hdr, in all its forms, gives the
// same functions as reading .eh_frame.
func TestSearchTable(t *testing.T) {
	sec := cfiSection(true, usual, nil)
	e, err := sec.entryAt(0)
	if err != nil {
		t.Fatal(err)
	}
	fde := sec.addr + uint64(e.next)
	const hdrAddr = 0x9000
	field := func(enc byte, v uint64) []byte {
		if enc&encRelative == encDataRel {
			v -= hdrAddr
		}
		return binary.LittleEndian.AppendUint64(nil, v)[:encodedSize(enc)]
	}
	for _, enc := range []byte{
		encDataRel | encSdata4, encDataRel | encSdata8, encUdata4, encAbsptr, encUdata8, encSdata4, encUdata2,
	} {
		hdr := []byte{1, encUdata4, encUdata4, enc, 0, 0, 0, 0, 1, 0, 0, 0}
		hdr = append(append(hdr, field(enc, 0x1000)...), field(enc, fde)...)
		f := newFrames(sec, hdrAddr, hdr, unbounded{})
		if _, ok := f.index.(*searchTable); !ok {
			t.Errorf("encoding %#x: not searched", enc)
			continue
		}
		for pc, want := range map[uint64]bool{0xfff: false, 0x1000: true, 0x10ff: true, 0x1100: false} {
			if got := f.function(pc) != nil; got != want {
				t.Errorf("encoding %#x, %#x: found %v", enc, pc, got)
			}
		}
	}
}

// TestNoSearchTable reads .eh_frame if its header is of no use.
func TestNoSearchTable(t *testing.T) {
	sec := cfiSection(true, usual, nil)
	for name, hdr := range map[string][]byte{
		"none":         nil,
		"version 2":    {2, encUdata4, encUdata4, encUdata4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"no table":     {1, encUdata4, encOmit, encOmit, 0, 0, 0, 0},
		"leb128":       {1, encUdata4, encUdata4, encUleb128, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1},
		"pc relative":  {1, encUdata4, encUdata4, encPCRel | encSdata4, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		"empty":        {1, encUdata4, encUdata4, encUdata4, 0, 0, 0, 0, 0, 0, 0, 0},
		"cut short":    {1, encUdata4, encUdata4, encUdata4, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0},
		"two bytes":    {1, 3},
		"bad encoding": {1, encUdata4, encUdata4, 0x05, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0},
	} {
		f := newFrames(sec, 0x9000, hdr, unbounded{})
		if _, ok := f.index.(linearIndex); !ok {
			t.Errorf("%s: %T", name, f.index)
		}
		if f.function(0x1080) == nil || f.function(0x1100) != nil {
			t.Errorf("%s: wrong function", name)
		}
	}
}

// TestLinearIndexOrder sorts what a linker left unsorted, and stops at garbage.
func TestLinearIndexOrder(t *testing.T) {
	sec := cfiSection(false, usual, nil)
	e, _ := sec.entryAt(0)
	second := append([]byte(nil), sec.data[e.next:]...)
	binary.LittleEndian.PutUint64(second[8:], 0x200)
	sec.data = append(sec.data, second...)
	sec.data = append(sec.data, 0xff, 0xff, 0xff)
	f := newFrames(sec, 0, nil, unbounded{})
	if f.index.len() != 2 || f.function(0x210) == nil || f.function(0x1010) == nil || f.function(0x400) != nil {
		t.Errorf("index %+v", f.index)
	}
}
