package x86_test

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/x86"
)

// nowhere is a non-canonical address: its upper bits are neither all clear nor all
// set, also with five levels of page tables.
const nowhere = 0x5a5a5a5a5a5a5a5a

// TestFaultingCall runs calls to a non-canonical address, in their own place and as
// copies. They fault with rip unchanged. Intel's processors have written the return
// address below the stack pointer by then, AMD's have not. The memory there must be
// the same after both runs. For the other vendor's processor the test itself makes
// the write, or undoes it.
func TestFaultingCall(t *testing.T) {
	l := newLab(t)
	for _, b := range [][]byte{
		binary.LittleEndian.AppendUint32([]byte{0xff, 0x15}, labData+0x100-labCode-6), // relative to rip
		{0xff, 0xd3},                           // rbx
		{0xff, 0x13},                           // [rbx]
		{0xff, 0x53, 0x10},                     // [rbx+16]
		{0xff, 0x93, 0x20, 0, 0, 0},            // [rbx+32]
		{0x67, 0xff, 0x93, 0x20, 0, 0, 0},      // [ebx+32]
		{0xf2, 0xff, 0x13}, {0x40, 0xff, 0x13}, // prefixes
	} {
		p, err := x86.MakePlan(b, labCode)
		l.must(err)
		f := faulting{l: l, plan: p, code: b}
		f.runNative(t)
		t.Logf("% x on %s: return address written: %t", b, ptest.Processor(), f.writes)
		for _, slot := range [...]uint64{labNearSlot, labFarSlot} {
			for _, other := range [...]bool{false, true} {
				if err := f.runCopy(slot, other); err != "" {
					t.Errorf("% x in slot %#x, the other vendor's %t: %s", b, slot, other, err)
				}
			}
		}
	}
}

// faulting is a call that faults.
type faulting struct {
	l      *lab
	plan   x86.Plan
	code   []byte
	writes bool // this processor writes the return address first
}

const (
	faultSP   = labData + 0x800
	faultWord = 0x1122334455667788 // the word below the stack pointer before the call
)

// prepare sets memory, and returns registers that lead every form of the call to
// nowhere.
func (f *faulting) prepare() x86.Regs {
	data := f.l.data()
	for i := 0x100; i < 0x200; i += 8 {
		binary.LittleEndian.PutUint64(data[i:], nowhere)
	}
	binary.LittleEndian.PutUint64(data[faultSP-8-labData:], faultWord)
	r := f.l.base
	r.Rip, r.Rsp, r.Rbx = labCode, faultSP, labData+0x100
	if f.code[len(f.code)-1] == 0xd3 { // call rbx
		r.Rbx = nowhere
	}
	return r
}

// next is the return address.
func (f *faulting) next() uint64 { return labCode + uint64(f.plan.Len()) }

func (f *faulting) below() uint64 {
	return binary.LittleEndian.Uint64(f.l.data()[faultSP-8-labData:])
}

func (f *faulting) runNative(t *testing.T) {
	t.Helper()
	r := f.prepare()
	f.l.put(f.code, labCode)
	sig := f.l.step(&r)
	if sig != syscall.SIGSEGV || r.Rip != labCode || r.Rsp != faultSP {
		t.Fatalf("% x: %v, rip %#x, rsp %#x; want a fault that changes neither", f.code, sig, r.Rip, r.Rsp)
	}
	switch v := f.below(); v {
	case faultWord:
	case f.next():
		f.writes = true
	default:
		t.Fatalf("% x: %#x below the stack pointer", f.code, v)
	}
}

// runCopy runs the copy, as on the other vendor's processor if other is set.
func (f *faulting) runCopy(slot uint64, other bool) string {
	c, err := f.plan.Displaced(slot)
	if err != nil {
		return err.Error()
	}
	r := f.prepare()
	before := r
	f.l.put(c.Code, slot)
	saved := f.plan.Enter(&r, slot)
	sig := f.l.step(&r)
	writes := f.writes != other
	if other {
		v := uint64(faultWord)
		if writes {
			v = slot + uint64(f.plan.Len())
		}
		binary.LittleEndian.PutUint64(f.l.data()[faultSP-8-labData:], v)
	}
	done := f.plan.Exit(&r, slot, saved, f.l)
	want := uint64(faultWord)
	if writes {
		want = f.next()
	}
	r.Eflags = before.Eflags
	switch v := f.below(); {
	case sig != syscall.SIGSEGV || done:
		return fmt.Sprintf("%v, done %t", sig, done)
	case r != before:
		return fmt.Sprintf("registers are %+v, want %+v", r, before)
	case v != want:
		return fmt.Sprintf("%#x below the stack pointer, want %#x", v, want)
	}
	return ""
}
