package unwind

import (
	"encoding/binary"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/ptrace"
	"ptools/internal/x86"
)

// fuzzCode is an address space of one mapping, with or without a table.
type fuzzCode struct{ m Mapping }

func (c fuzzCode) Find(pc uint64) (Mapping, bool) {
	return c.m, pc >= c.m.Start && pc < c.m.End
}

// fuzzObject is a file of arbitrary code and call frame information.
type fuzzObject struct{ code, frame []byte }

const fuzzBase = 0x1000

func (fuzzObject) Generation() uint32 { return 0 }

func (o fuzzObject) Section(name string) (uint64, []byte, bool) {
	return 0x8000, o.frame, name == ".eh_frame"
}

func (o fuzzObject) ReadAddr(b []byte, addr uint64) bool {
	if addr < fuzzBase || addr-fuzzBase > uint64(len(o.code)) || uint64(len(o.code))-(addr-fuzzBase) < uint64(len(b)) {
		return false
	}
	copy(b, o.code[addr-fuzzBase:])
	return true
}

func (o fuzzObject) SectionAddr(string) (uint64, bool) { return fuzzBase, true }

func (o fuzzObject) Entry() uint64 { return fuzzBase }

func (o fuzzObject) golang() goTable { return fuzzGo{} }

func (o fuzzObject) extent(pc uint64) (start, end uint64, ok bool) {
	start = pc &^ 0x3f
	return start, start + 0x40, pc&0x40 != 0
}

// fuzzGo makes every other 256 bytes a Go function, of all kinds.
type fuzzGo struct{}

func (fuzzGo) Func(pc uint64) (elfsym.GoFunc, bool) {
	names := []string{"runtime.systemstack", "runtime.cgocallback", "runtime.morestack", "crosscall2", "runtime.asyncPreempt", "main.f"}
	start := pc &^ 0xff
	return elfsym.GoFunc{Name: names[pc>>9%uint64(len(names))], Entry: start, End: start + 0x100, Flags: uint8(pc>>10&1) * elfsym.GoSPWrite}, pc&0x100 != 0
}

func (fuzzGo) SPDelta(pc uint64) (int32, bool) { return int32(pc & 0x78), true }

// fuzzMemory answers every read with a pattern made of its address.
type fuzzMemory struct{ seed byte }

func (m fuzzMemory) ReadAt(p []byte, addr int64) (int, error) {
	for i := range p {
		p[i] = byte(addr>>8) ^ m.seed ^ byte(i*i)
	}
	return len(p), nil
}

// FuzzUnwind unwinds arbitrary stacks through arbitrary code and tables.
func FuzzUnwind(f *testing.F) {
	stack := make([]byte, 256)
	for i := 0; i < len(stack); i += 8 {
		binary.LittleEndian.PutUint64(stack[i:], 0x1000+uint64(i)*8)
	}
	code := []byte("\xe8\x00\x00\x00\x00\x55\x48\x89\xe5\xc9\xc3\xff\xd0\x48\x83\xc4\x18\xc3\xe8\x10\x00\x00\x00\xc3\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05")
	for len(code) < 2048 {
		code = append(code, code...)
	}
	sec := cfiSection(true, usual, []byte{cfaAdvanceLoc | 8, cfaDefCFAOffset, 24})
	f.Add(stack, code, sec.data, uint64(0x1008), uint64(0x7008), byte(0))
	f.Add(stack, code, sec.data, uint64(0x1305), uint64(0x7100), byte(1))
	f.Fuzz(func(t *testing.T, stack, code, frame []byte, pc, fp uint64, seed byte) {
		m := Mapping{Start: fuzzBase, End: fuzzBase + 0x3000}
		if seed&1 == 0 {
			m.Table = newTable(fuzzObject{code, frame})
		}
		s := Stack{Base: 0x7000, Data: stack, Partial: seed&4 != 0}
		if seed&2 != 0 {
			s.Mem = fuzzMemory{seed}
		}
		u := New(fuzzCode{m})
		frames, end := unwindFrom(u, pc, fp, s)
		if len(frames) == 0 || len(frames) > MaxDepth || end == 0 {
			t.Errorf("%d frames, end %v", len(frames), end)
		}
		if s.Mem == nil && u.Counts().Outside != 0 {
			t.Error("reads outside the copy")
		}
		again, end2 := unwindFrom(u, pc, fp, s)
		if len(again) != len(frames) || end2 != end {
			t.Errorf("first %d frames (%v), then %d (%v)", len(frames), end, len(again), end2)
		}
	})
}

// unwindFrom unwinds with the registers that matter.
func unwindFrom(u *Unwinder, pc, fp uint64, s Stack) ([]Frame, End) {
	return u.Unwind(&ptrace.Regs{Regs: x86.Regs{Rip: pc, Rsp: s.Base, Rbp: fp, Rbx: fp, R12: pc, FsBase: 0x5000}}, s, nil)
}

func (fuzzObject) Spend(int) bool { return true }
func (fuzzObject) Keep(int) bool  { return true }
