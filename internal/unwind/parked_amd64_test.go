package unwind

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/ptrace"
	"ptools/internal/x86"
)

// namedGo is a table of Go functions of 256 bytes from fuzzBase on, with frames of 16 bytes.
type namedGo []string

func (names namedGo) Func(pc uint64) (elfsym.GoFunc, bool) {
	i := (pc - fuzzBase) >> 8
	if pc < fuzzBase || i >= uint64(len(names)) {
		return elfsym.GoFunc{}, false
	}
	start := fuzzBase + i<<8
	return elfsym.GoFunc{Entry: start, End: start + 256, Name: names[i]}, true
}

func (namedGo) SPDelta(uint64) (int32, bool) { return 16, true }

// namedObject is a program of Go functions.
type namedObject struct {
	fuzzObject
	names namedGo
}

func (o namedObject) golang() goTable { return o.names }

// TestParked: a thread in Go's scheduler, which was entered because its goroutine had to grow its stack or be preempted,
// has no goroutine any more, whatever memory says by the time that the stack is unwound. A thread that grows a stack has.
func TestParked(t *testing.T) {
	const sp, tls, g0, m, g, stack = 0x10000, 0x20000, 0x20100, 0x20200, 0x20400, 0x10800
	code := bytes.Repeat([]byte{0xe8, 0, 0, 0, 0}, 512) // calls
	words := make([]uint64, (0x21000-sp)/8)
	set := func(addr, v uint64) { words[(addr-sp)/8] = v }
	at := func(fn uint64) uint64 { return fuzzBase + fn<<8 + 10 } // behind a call
	set(sp+16, at(1))                                             // the first function returns to morestack
	set(tls-8, g0)
	set(g0+gM, m)
	set(m, g0)
	set(m+8, g)
	set(g+gM, m)
	set(g+gSchedG, g)
	set(g+gSchedSP, stack)
	set(g+gSchedPC, at(2))
	set(stack+16, at(3))
	var memory bytes.Buffer
	binary.Write(&memory, binary.LittleEndian, words)
	for _, test := range []struct {
		inner string
		want  []uint64
	}{
		{"runtime.newstack", []uint64{at(0), at(1), at(2), at(3)}},
		{"runtime.schedule", []uint64{at(0), at(1)}},
		{"runtime.stopm", []uint64{at(0), at(1)}},
	} {
		o := namedObject{fuzzObject{code: code}, namedGo{test.inner, "runtime.morestack", "main.work", "runtime.goexit"}}
		mapping := Mapping{Start: fuzzBase, End: fuzzBase + 0x400, Table: newTable(o)}
		regs := &ptrace.Regs{Regs: x86.Regs{Rip: at(0), Rsp: sp, FsBase: tls}}
		frames, end := New(fuzzCode{mapping}).Unwind(regs, Stack{Base: sp, Data: memory.Bytes()}, nil)
		var got []uint64
		for _, f := range frames {
			got = append(got, f.PC)
		}
		if end != Whole || !slices.Equal(got, test.want) {
			t.Errorf("%s: %#x %v, want %#x", test.inner, got, end, test.want)
		}
	}
}
