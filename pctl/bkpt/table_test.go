package bkpt

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"testing"

	"ptools/internal/machine"
	"ptools/internal/ptrace"
)

func TestArmDisarm(t *testing.T) {
	m := newText()
	orig := bytes.Clone(m.b)
	tab := NewTable(m)
	for i := range uint64(50) {
		mustAdd(t, tab, textBase+16*i)
	}
	m.check(t, orig)
	m.reads, m.writes = 0, 0
	must(t, tab.Arm())
	if m.reads != 1 || m.writes != 1 {
		t.Errorf("arming 50 neighbours took %d reads and %d writes, want one each", m.reads, m.writes)
	}
	want := bytes.Clone(orig)
	for i := range 50 {
		want[16*i] = 0xcc
	}
	m.check(t, want)

	p := bytes.Clone(m.b[3:200])
	tab.Overlay(p, textBase+3)
	if !bytes.Equal(p, orig[3:200]) {
		t.Error("overlay shows traps")
	}
	must(t, tab.Disarm())
	m.check(t, orig)
}

func TestOwners(t *testing.T) {
	m := newText()
	orig := bytes.Clone(m.b)
	tab := NewTable(m)
	must(t, tab.Arm())
	a, b := mustAdd(t, tab, textBase), mustAdd(t, tab, textBase)
	if a != b || a.Owners() != 2 || !a.Armed() || m.b[0] != 0xcc || a.Orig() != 0x55 {
		t.Fatalf("two Adds: %p %p, %d owners, armed %t, byte %#x", a, b, a.Owners(), a.Armed(), m.b[0])
	}
	must(t, tab.Remove(a))
	if got, addr, ok := tab.Trapped(textBase + breakLen); got != a || addr != textBase || !ok || m.b[0] != 0xcc {
		t.Fatalf("with an owner left: Trapped = %v, %#x, %t", got, addr, ok)
	}
	must(t, tab.Remove(b))
	m.check(t, orig)
	if got, addr, ok := tab.Trapped(textBase + breakLen); got != nil || addr != textBase || !ok || tab.At(textBase) != nil {
		t.Errorf("Trapped by a lifted trap = %v, %#x, %t", got, addr, ok)
	}
	tab.Settle(true)
	if _, _, ok := tab.Trapped(textBase + breakLen); ok {
		t.Error("Settle forgot nothing")
	}
	must(t, tab.Remove(b)) // once too often does nothing
}

// TestSetBacks: there is a rule for each trap in the text. A thread behind a longer instruction's first byte has
// executed the trap. Behind a short instruction the signal's si_code shows that.
func TestSetBacks(t *testing.T) {
	tab := NewTable(newText())
	long, short := mustAdd(t, tab, textBase+1), mustAdd(t, tab, textBase) // mov rbp,rsp; push rbp
	version := tab.Version()
	if got := tab.AppendSetBacks(nil); got != nil {
		t.Errorf("not armed: %+v", got)
	}
	must(t, tab.Arm())
	want := []ptrace.SetBack{{After: textBase + 1, To: textBase, Code: ptrace.SIKernel}, {After: textBase + 2, To: textBase + 1}}
	if got := tab.AppendSetBacks(nil); !slices.Equal(got, want) || tab.Version() == version {
		t.Errorf("armed: %+v, want %+v; version %d, was %d", got, want, tab.Version(), version)
	}
	for i, b := range []*Breakpoint{short, long} {
		if got, ok := tab.TrapAt(want[i].To); got != b || !ok || b.TrapCode() != want[i].Code {
			t.Errorf("TrapAt %#x = %v, %t, code %#x", want[i].To, got, ok, b.TrapCode())
		}
	}
	var gone *Breakpoint
	if gone.TrapCode() != ptrace.SIKernel {
		t.Error("of a breakpoint that is gone any SIGTRAP is ours")
	}
}

func TestAddErrors(t *testing.T) {
	m := newText()
	m.b[32] = 0x06 // push es: not in 64-bit mode
	m.b[len(m.b)-1] = 0xe8
	tab := NewTable(m)
	for _, addr := range []uint64{0, textBase + 32, textBase + uint64(len(m.b)) - 1} {
		if b, err := tab.Add(addr); err == nil {
			t.Errorf("Add(%#x) = %v", addr, b)
		}
	}
	if tab.Len() != 0 {
		t.Errorf("%d breakpoints after failures", tab.Len())
	}
}

// TestTextGone unmaps the text under armed breakpoints, and maps it again.
func TestTextGone(t *testing.T) {
	m := newText()
	tab := NewTable(m)
	b := mustAdd(t, tab, textBase)
	mustAdd(t, tab, textBase+16)
	must(t, tab.Arm())
	m.base += 1 << 20
	must(t, tab.Disarm())
	must(t, tab.Arm())
	if !b.dead || b.Armed() {
		t.Fatal("breakpoint lives without text")
	}
	m.base -= 1 << 20
	if again := mustAdd(t, tab, textBase); again != b || b.dead || !b.Armed() {
		t.Error("not revived")
	}
}

// TestTextReplaced maps other code where breakpoints are, as dlclose and dlopen do
// unnoticed. No trap returns to that code.
func TestTextReplaced(t *testing.T) {
	m := newText()
	tab := NewTable(m)
	b, gone := mustAdd(t, tab, textBase), mustAdd(t, tab, textBase+16)
	stays := mustAdd(t, tab, textBase+32)
	m.b[0], m.b[16] = 0xc3, 0x06
	must(t, tab.Arm())
	if !b.dead || m.b[0] != 0xc3 || !gone.dead || m.b[16] != 0x06 || !stays.Armed() {
		t.Error("trap planted in other text")
	}
	if e := tab.TakeEnded(); len(e) != 2 || e[0].Breakpoint != b || e[0].Why != ErrTextRewritten {
		t.Errorf("ended: %+v", e)
	}
	if again := mustAdd(t, tab, textBase); again != b || b.Orig() != 0xc3 || b.Plan().Len() != 1 {
		t.Errorf("plan is of the old text: %#x", b.Orig())
	}
	m.b[0] = 0x55 // replaced while armed: the trap went with the old text
	must(t, tab.Disarm())
	if m.b[0] != 0x55 {
		t.Errorf("Disarm wrote %#x over new text", m.b[0])
	}
}

func TestForget(t *testing.T) {
	m := newText()
	tab := NewTable(m)
	b := mustAdd(t, tab, textBase)
	must(t, tab.Arm())
	armed := bytes.Clone(m.b)
	tab.Forget()
	must(t, tab.Remove(b))
	m.check(t, armed)
	if tab.At(textBase) != nil || tab.Len() != 0 {
		t.Error("remembered")
	}
}

func TestWrite(t *testing.T) {
	m := newText()
	orig := bytes.Clone(m.b)
	tab := NewTable(m)
	b, inside := mustAdd(t, tab, textBase), mustAdd(t, tab, textBase+16)
	must(t, tab.Arm())
	// A client replaces the first function by an immediate move and a return.
	code := []byte{0xb8, 0x2a, 0, 0, 0, 0xc3}
	must(t, tab.Write(code, textBase))
	if m.b[0] != 0xcc || !bytes.Equal(m.b[1:6], code[1:]) {
		t.Fatalf("text is % x", m.b[:6])
	}
	if b.Orig() != 0xb8 || b.Plan().Len() != 5 {
		t.Errorf("orig %#x, length %d", b.Orig(), b.Plan().Len())
	}
	// A write that covers only the tail of an instruction changes its plan too.
	must(t, tab.Write([]byte{7}, textBase+1))
	if b.code[1] != 7 {
		t.Error("plan kept its old immediate")
	}
	must(t, tab.Write([]byte{0x06}, textBase+16))
	if !inside.dead || m.b[16] != 0x06 {
		t.Error("a breakpoint on no instruction")
	}
	must(t, tab.Disarm())
	copy(orig, []byte{0xb8, 7, 0, 0, 0, 0xc3})
	orig[16] = 0x06
	m.check(t, orig)
}

func TestClean(t *testing.T) {
	m := newText()
	orig := bytes.Clone(m.b)
	tab := NewTable(m)
	must(t, tab.Scratch().Reserve(textBase+4096+5, 1000))
	mustAdd(t, tab, textBase)
	early := mustAdd(t, tab, textBase+16)
	cpuid := mustAdd(t, tab, textBase+10)
	must(t, tab.Arm())
	slot, direct, err := tab.Scratch().Place(cpuid)
	must(t, err)
	if !direct || slot%SlotSize != 0 {
		t.Errorf("slot %#x, direct %t", slot, direct)
	}
	child := &text{base: m.base, b: bytes.Clone(m.b)} // fork
	must(t, tab.Remove(early))
	child.b[100] = 0xcc // its own
	must(t, tab.Clean(child, nil))
	orig[100] = 0xcc
	child.check(t, orig)
	must(t, tab.Disarm())
	must(t, tab.Clean(child, nil))
	child.check(t, orig)
}

func TestScratch(t *testing.T) {
	m := newText()
	for i := range 4096 {
		m.b[4096+i] = byte(i)
	}
	orig := bytes.Clone(m.b)
	tab := NewTable(m)
	s := tab.Scratch()
	a, b, c := mustAdd(t, tab, textBase+10), mustAdd(t, tab, textBase+26), mustAdd(t, tab, textBase+42)
	if _, _, err := s.Place(a); !errors.Is(err, ErrNoSlot) {
		t.Fatalf("Place without area: %v", err)
	}
	must(t, s.Reserve(textBase+4096+1, 3*SlotSize-1))
	if n := s.Free(); n != 2 {
		t.Fatalf("%d slots, want 2", n)
	}
	must(t, tab.Arm())
	slotA, _, err := s.Place(a)
	must(t, err)
	slotB, _, err := s.Place(b)
	must(t, err)
	if _, _, err := s.Place(c); !errors.Is(err, ErrNoSlot) {
		t.Fatalf("third slot of two: %v", err)
	}
	m.writes = 0
	if again, _, err := s.Place(a); again != slotA || err != nil || m.writes != 0 {
		t.Errorf("Place again: %#x, %v, %d writes", again, err, m.writes)
	}
	for _, pc := range []uint64{slotA, slotA + 2} {
		if at, ok := s.Origin(pc); !ok || at != a.Addr+pc-slotA {
			t.Errorf("Origin(%#x) = %#x, %t", pc, at, ok)
		}
	}
	if _, ok := s.Origin(slotB + SlotSize); ok {
		t.Error("Origin outside")
	}

	p := bytes.Clone(m.b)
	tab.Overlay(p, textBase)
	if !bytes.Equal(p, orig) {
		t.Error("overlay shows slots")
	}
	must(t, tab.Write([]byte{1, 2, 3}, slotA+1))
	copy(orig[slotA+1-textBase:], []byte{1, 2, 3})
	if m.b[slotA-textBase+1] != 0xa2 {
		t.Error("a client's write broke a copy")
	}

	must(t, tab.Remove(a))
	if s.Free() != 0 {
		t.Error("slot given away while a thread may be in it")
	}
	tab.Settle(true)
	if s.Free() != 1 {
		t.Error("slot not free after Settle")
	}
	d := mustAdd(t, tab, textBase+16+4) // nopw: a longer copy, then a shorter one in its slot
	if at, _, err := s.Place(d); at != slotA || err != nil || m.b[slotA-textBase] != 0x66 {
		t.Errorf("slot given again: %#x, %v", at, err)
	}
	must(t, tab.Remove(d))
	tab.Settle(true)
	if at, _, err := s.Place(c); at != slotA || err != nil || m.b[slotA-textBase] != 0x0f {
		t.Errorf("slot given a third time: %#x, %v", at, err)
	}
	must(t, tab.Disarm())
	m.check(t, orig)
	must(t, tab.Arm())
	if _, _, err := s.Place(b); err != nil || m.b[slotB-textBase] != 0x0f {
		t.Errorf("copy not written again after a rendezvous: %v", err)
	}
	must(t, tab.Disarm())
	m.check(t, orig)
}

// TestDirect: only an instruction from whose copy a thread comes back by itself is given a slot.
func TestDirect(t *testing.T) {
	m := newText()
	copy(m.b[32:], []byte{0xe8, 0, 0, 0, 0}) // call
	orig := bytes.Clone(m.b)
	tab := NewTable(m)
	s := tab.Scratch()
	must(t, s.Reserve(textBase+4096, 2*SlotSize))
	push, leave, call := mustAdd(t, tab, textBase), mustAdd(t, tab, textBase+12), mustAdd(t, tab, textBase+32)
	move, ret := mustAdd(t, tab, textBase+1), mustAdd(t, tab, textBase+13)
	must(t, tab.Arm())
	for b, want := range map[*Breakpoint]bool{push: true, leave: true, ret: true, move: false, call: false} {
		if got := b.Plan().UsesMemory(); got != want {
			t.Errorf("%#x uses memory: %t, want %t", b.Addr, got, want)
		}
	}
	if at, ok := s.Direct(call); ok || s.Free() != 2 {
		t.Errorf("a call goes through %#x, %d slots are left", at, s.Free())
	}
	for _, b := range []*Breakpoint{push, ret, push} {
		at, ok := s.Direct(b)
		if !ok || m.b[at-textBase] != b.Orig() {
			t.Errorf("Direct(%#x) = %#x, %t", b.Addr, at, ok)
		}
	}
	if at, ok := s.Direct(leave); ok {
		t.Errorf("a third slot of two: %#x", at)
	}
	must(t, tab.Disarm())
	m.check(t, orig)
}

// TestRelocate: a thread anywhere in a slot is moved to where it would be in the
// program, whatever has become of the breakpoint.
func TestRelocate(t *testing.T) {
	m := newText()
	tab := NewTable(m)
	s := tab.Scratch()
	must(t, s.Reserve(textBase+4096, 128))
	b := mustAdd(t, tab, textBase+10)
	must(t, tab.Arm())
	slot, _, err := s.Place(b)
	must(t, err)
	must(t, tab.Remove(b))
	for _, c := range []struct {
		pc, want     uint64
		inSlot, done bool
	}{
		{slot, b.Addr, true, false},
		{slot + 2, b.Addr + 2, true, true},
		{slot + SlotSize, slot + SlotSize, false, true},
		{b.Addr, b.Addr, false, true},
	} {
		var r machine.Regs
		r.SetPC(c.pc)
		in, done := s.Relocate(&r, machine.Saved{}, m)
		if in != c.inSlot || done != c.done || r.PC() != c.want {
			t.Errorf("Relocate at %#x: %t, %t, %#x, want %t, %t, %#x", c.pc, in, done, r.PC(), c.inSlot, c.done, c.want)
		}
	}
}

func BenchmarkArm(b *testing.B) {
	for _, n := range []int{1, 50, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m := newText()
			m.b = bytes.Repeat(m.b[:4096], 64)
			tab := NewTable(m)
			for i := range n {
				if _, err := tab.Add(textBase + uint64(i)*256); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := errors.Join(tab.Arm(), tab.Disarm()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
