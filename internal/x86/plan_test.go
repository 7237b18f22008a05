package x86

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// space is memory at a base address.
type space struct {
	base uint64
	b    []byte
}

func (m *space) ReadAt(p []byte, off int64) (int, error) {
	q, err := m.span(len(p), off)
	return copy(p, q), err
}

func (m *space) WriteAt(p []byte, off int64) (int, error) {
	q, err := m.span(len(p), off)
	return copy(q, p), err
}

func (m *space) span(n int, off int64) ([]byte, error) {
	i := uint64(off) - m.base
	if i > uint64(len(m.b)) || uint64(n) > uint64(len(m.b))-i {
		return nil, io.ErrUnexpectedEOF
	}
	return m.b[i:][:n], nil
}

func code(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPlans lists instructions with the plans that they must get, and the reasons.
func TestPlans(t *testing.T) {
	for _, c := range []struct {
		code, name string
		kind       Kind
		len        int
	}{
		{"f30f1efa", "endbr64", Emulate, 4},
		{"f30f1efb", "endbr32", Emulate, 4},
		{"f3480f1ec8", "rdsspq: a nop only without shadow stacks", Displace, 5},
		{"55", "push rbp", Emulate, 1},
		{"4154", "push r12", Emulate, 2},
		{"6655", "push bp", Displace, 2},
		{"90", "nop", Emulate, 1},
		{"6690", "xchg ax,ax", Emulate, 2},
		{"4190", "xchg r8d,eax", Emulate, 2},
		{"f390", "pause", Emulate, 2},
		{"f34190", "pause or xchg", Displace, 3},
		{"87c0", "xchg eax,eax clears the upper half", Emulate, 2},
		{"8703", "xchg eax,[rbx] locks", Displace, 2},
		{"0f1f00", "nop [rax]", Emulate, 3},
		{"66662e0f1f840000000000", "nopw cs:[rax+rax]", Emulate, 11},
		{"4889e5", "mov rbp,rsp", Emulate, 3},
		{"4883ec08", "sub rsp,8", Emulate, 4},
		{"488d0511000000", "lea rax,[rip+17]", Emulate, 7},
		{"488b0511000000", "mov rax,[rip+17]", Emulate, 7},
		{"488903", "mov [rbx],rax: one word", Emulate, 3},
		{"8903", "mov [rbx],eax: seen by others in halves", Displace, 2},
		{"895c2408", "mov [rsp+8],ebx", Emulate, 4},
		{"488b042528000000", "mov rax,[0x28]", Emulate, 8},
		{"64488b042528000000", "mov rax,fs:[0x28]", Emulate, 9},
		{"8303ff", "add [rbx],-1: not in one piece", Displace, 3},
		{"f00fb10b", "lock cmpxchg", Displace, 4},
		{"83f805", "cmp eax,5", Emulate, 3},
		{"833d1000000000", "cmp [rip+16],0", Emulate, 7},
		{"e811000000", "call rel32", Emulate, 5},
		{"66e811000000", "call with 66: length differs between vendors", StepAll, 0},
		{"666648e811000000", "call of the TLS sequence", Emulate, 8},
		{"ff1511000000", "call [rip+17]", Emulate, 6},
		{"3effe0", "notrack jmp rax", Emulate, 3},
		{"f2ff2511000000", "bnd jmp [rip+17]", Emulate, 7},
		{"66ffe0", "jmp with 66", StepAll, 3},
		{"eb05", "jmp rel8", Emulate, 2},
		{"66eb05", "jmp rel8 with 66", StepAll, 3},
		{"7405", "je", Emulate, 2},
		{"0f8411000000", "je rel32", Emulate, 6},
		{"e3fe", "jrcxz", Emulate, 2},
		{"67e3fe", "jecxz", Displace, 3},
		{"f3e0fe", "repz loopne is a loope", Displace, 3},
		{"c3", "ret", Emulate, 1},
		{"f3c3", "repz ret", Emulate, 2},
		{"c20800", "ret 8", Emulate, 3},
		{"66c3", "ret with 66", StepAll, 2},
		{"c9", "leave", Emulate, 1},
		{"9c", "pushf", Emulate, 1},
		{"9d", "popf", Emulate, 1},
		{"0f05", "syscall", Displace, 2},
		{"cd80", "int 0x80", Displace, 2},
		{"0f34", "sysenter", StepAll, 2},
		{"cc", "int3", StepAll, 1},
		{"f1", "int1", StepAll, 1},
		{"cd03", "int 3", StepAll, 2},
		{"48cf", "iretq", StepAll, 2},
		{"cb", "far ret", StepAll, 1},
		{"ff1b", "far call", StepAll, 2},
		{"8ed0", "mov ss,eax", StepAll, 2},
		{"8ed8", "mov ds,eax", Displace, 2},
		{"c7f800000000", "xbegin", StepAll, 6},
		{"c6f800", "xabort", Displace, 3},
		{"0f01d7", "enclu", StepAll, 3},
		{"f348ab", "rep stosq", Displace, 3},
		{"0fa2", "cpuid", Displace, 2},
		{"c5f877", "vzeroupper", Displace, 3},
		{"c5fd6f0511000000", "vmovdqa ymm0,[rip+17]", Displace, 8},
		{"62f17c480f580511000000", "EVEX map 1", Displace, 0},
		{"62f1fe486f0511000000", "vmovdqu64 zmm0,[rip+17]", Displace, 10},
		{"c4e27bf6c3", "mulx", Displace, 5},
		{"8fe97881c0", "XOP map 9", Displace, 5},
		{"d50048ffc0", "REX2", StepAll, 0},
		{"0fff", "ud0", StepAll, 0},
		{"0f0b", "ud2", Displace, 2},
	} {
		p, err := MakePlan(code(t, c.code), 0x401000)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.Kind() != c.kind || c.len != 0 && p.Len() != c.len {
			t.Errorf("%s (%s): %v, %d bytes, want %v, %d", c.name, c.code, p.Kind(), p.Len(), c.kind, c.len)
		}
	}
}

func TestNoPlan(t *testing.T) {
	for _, s := range []string{"", "06", "0e", "27", "60", "82", "9a", "ce", "d4", "ea", "0f04", "0f0a", "0f24", "48c5f877", "66c5f877",
		"66666666666666666666666666666690", "e8", "48", "0f", "0f38", "c5", "62f1", "488b05110000"} {
		if p, err := MakePlan(code(t, s), 0); err == nil {
			t.Errorf("% x: %v, %d bytes", s, p.Kind(), p.Len())
		}
	}
}

func TestPlanQuestions(t *testing.T) {
	for _, c := range []struct {
		code          string
		syscall, trap bool
	}{
		{"0f05", true, false},
		{"66cd80", true, false},
		{"cd03", false, true},
		{"cc", false, true},
		{"e811000000", false, false},
		{"ffd0", false, false},
		{"c3", false, false},
		{"55", false, false},
		{"c4e27bf6c3", false, false},
	} {
		p, err := MakePlan(code(t, c.code), 0x401000)
		must(t, err)
		if p.IsSyscall() != c.syscall || p.IsTrap() != c.trap {
			t.Errorf("%s: syscall %t, trap %t", c.code, p.IsSyscall(), p.IsTrap())
		}
	}
}

// TestProbeable lists the instructions that the kernel must not be asked to execute.
func TestProbeable(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       bool
	}{
		{"endbr64", "f30f1efa", true},
		{"push rbp", "55", true},
		{"sub rsp,8", "4883ec08", true},
		{"mov edi,edi", "89ff", true},
		{"call", "e800000000", true},
		{"ret", "c3", true},
		{"nop of 4 bytes", "0f1f4000", true},
		{"nop of 5 bytes: replaced by a call that writes to the red zone", "0f1f440000", false},
		{"pushf: would push the kernel's trap flag", "9c", false},
		{"popf", "9d", false},
		{"xchg rax,r8: taken for a nop", "4990", false},
		{"syscall: cannot be interrupted while it is stepped", "0f05", false},
		{"rep movsb: one hit each turn", "f3a4", false},
		{"div: a SIGFPE elsewhere", "f7f1", false},
		{"int3", "cc", false},
	} {
		p, err := MakePlan(code(t, c.code), 0x401000)
		must(t, err)
		if got := p.Probeable(); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

// TestDisplacedCode checks the copies byte for byte.
func TestDisplacedCode(t *testing.T) {
	const at, near, far = 0x401000, 0x402000, 0x7f0000000000
	for _, c := range []struct {
		name, code string
		slot       uint64
		want       string
		scratch    int
		direct     bool
	}{
		{"cpuid", "0fa2", near, "0fa2 e9fbefffff", -1, true},
		{"cpuid far", "0fa2", far, "0fa2 90", -1, false},
		{"addps xmm0,[rip+16]", "0f580510000000", near, "0f580510f0ffff e9fbefffff", -1, true},
		{"addps far", "0f580510000000", far, "0f588600000000 90", rsi, false},
		{"add [rip+0],esi far", "013500000000", far, "01b700000000 90", rdi, false},
		{"REX.B is ignored by rip", "49013500000000", far, "4801b700000000 90", rdi, false},
		{"vpaddd ymm0,ymm6,[rip]", "c5cdfe0500000000", far, "c5cdfe8700000000 90", rdi, false},
		{"andn esi,edi,[rip]", "c4e240f23500000000", far, "c4e240f2b300000000 90", rbx, false},
		{"VEX.B set", "c4c240f23500000000", far, "c4e240f2b300000000 90", rbx, false},
		{"vmovdqu64 zmm0,[rip]", "62f1fe486f0500000000", far, "62f1fe486f8600000000 90", rsi, false},
		{"syscall", "0f05", near, "0f05 e9fbefffff", -1, false},
		{"ret", "c3", near, "c3 e9fbefffff", -1, true},
		{"call rax", "ffd0", near, "ffd0 e9fbefffff", -1, false},
		{"call rel32", "e800000000", near, "e800000000 e9fbefffff", -1, false},
	} {
		p, err := MakePlan(code(t, c.code), at)
		must(t, err)
		d, err := p.Displaced(c.slot)
		must(t, err)
		if want := code(t, c.want); string(d.Code) != string(want) || d.Scratch != c.scratch || d.Direct != c.direct {
			t.Errorf("%s: % x, scratch %d, direct %t, want % x, %d, %t", c.name, d.Code, d.Scratch, d.Direct, want, c.scratch, c.direct)
		}
	}
	p, err := MakePlan([]byte{0xcc}, at)
	must(t, err)
	if _, err := p.Displaced(near); !errors.Is(err, ErrNotDisplaceable) {
		t.Errorf("copy of int3: %v", err)
	}
}

// refuse is a memory that nothing can be read from or written to.
type refuse struct{ err error }

func (m refuse) ReadAt([]byte, int64) (int, error)  { return 0, m.err }
func (m refuse) WriteAt([]byte, int64) (int, error) { return 0, m.err }

// TestDecline: where the processor would fault or trap, nothing is emulated and
// nothing changes.
func TestDecline(t *testing.T) {
	stack := &space{base: 0x1000, b: make([]byte, 2*pageSize)}
	for _, c := range []struct {
		name, code string
		m          Memory
		regs       Regs
	}{
		{"stack gone", "55", refuse{syscall.EFAULT}, Regs{Rsp: 0x2000}},
		{"single-stepping itself", "90", stack, Regs{Eflags: flagTF}},
		{"alignment checks", "55", stack, Regs{Rsp: 0x2000, Eflags: flagAC}},
		{"stack in no space", "55", stack, Regs{Rsp: 1 << 63}},
		{"half a store", "55", stack, Regs{Rsp: 0x2004}},
		{"jump to no space", "ffe0", stack, Regs{Rax: 1 << 47}},
		{"torn store", "488903", stack, Regs{Rbx: 0x1001}},
	} {
		p, err := MakePlan(code(t, c.code), 0x401000)
		must(t, err)
		c.regs.Rip = 0x401000
		r := c.regs
		if ok, err := p.Emulate(&r, c.m); ok || err != nil || r != c.regs {
			t.Errorf("%s: ok %t, %v, changed %t", c.name, ok, err, r != c.regs)
		}
	}
	p, err := MakePlan([]byte{0x55}, 0x401000)
	must(t, err)
	r := Regs{Rsp: 0x2000}
	if ok, err := p.Emulate(&r, refuse{fmt.Errorf("write: %w", syscall.ESRCH)}); ok || !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process gone: %t, %v", ok, err)
	}
}

// TestSyscallKeepsRegisters: with FRED a system call changes neither rcx nor r11
// (arch/x86/entry/entry_fred.c). So the values of a program in them are not corrected.
func TestSyscallKeepsRegisters(t *testing.T) {
	const at, slot = 0x401000, 0x402000
	p, err := MakePlan([]byte{0x0f, 0x05}, at)
	must(t, err)
	for _, rcx := range []uint64{0, at, slot, slot + 2} {
		r := Regs{Rip: slot + 2, Rcx: rcx, R11: flagTF | flagCF}
		want := Regs{Rip: at + 2, Rcx: rcx, R11: flagTF | flagCF}
		if rcx == slot+2 { // without FRED
			want.Rcx, want.R11 = at+2, flagCF
		}
		if !p.Exit(&r, slot, Saved{}, refuse{syscall.EFAULT}) || r != want {
			t.Errorf("rcx %#x before: %+v, want %+v", rcx, r, want)
		}
	}
}

func FuzzMakePlan(f *testing.F) {
	for _, s := range []string{"f30f1efa", "55", "4883ec08", "e811000000", "488b0511000000", "c5fd6f0511000000", "62f1fe486f0511000000",
		"8fe97881c0", "66e811000000", "f20f78c00102", "0f20c0", "640fa2", "d5ff", "62253130703030"} {
		f.Add(code(f, s), uint64(0x401000))
	}
	f.Fuzz(func(t *testing.T, b []byte, addr uint64) {
		p, err := MakePlan(b, addr)
		x, xerr := x86asm.Decode(b[:min(len(b), maxLen)], 64)
		if err != nil {
			return
		}
		if p.Len() > len(b) || p.Len() > maxLen {
			t.Fatalf("% x: length %d", b, p.Len())
		}
		known := xerr == nil && x.Op != 0 && x.Op != x86asm.VZEROUPPER && x.Op != x86asm.VZEROALL
		if i := slices.Index(x.Prefix[:], x86asm.Prefix(0x62)); i >= 0 && x.Prefix[i+1]&4 != 0 {
			known = false // x86asm takes EVEX's opcode maps 4 to 7 for 0 to 3
		}
		if known && p.Kind() != StepAll && p.Len() != x.Len {
			t.Fatalf("% x (%v): length %d, x86asm says %d", b, x, p.Len(), x.Len)
		}
		for _, slot := range []uint64{addr + 1<<20, addr + 1<<40} {
			c, err := p.Displaced(slot)
			if (err == nil) == (p.Kind() == StepAll) {
				t.Fatalf("% x: %v, but copy: %v", b, p.Kind(), err)
			}
			if len(c.Code) > SlotSize {
				t.Fatalf("% x: a copy of %d bytes", b, len(c.Code))
			}
			if q, err := MakePlan(c.Code, slot); err == nil && q.Len() != p.Len() {
				t.Fatalf("% x: the copy % x has length %d", b, c.Code, q.Len())
			}
			r := Regs{Rip: addr}
			p.Exit(&r, slot, p.Enter(&r, slot), refuse{syscall.EFAULT})
			if r.Rip != addr {
				t.Fatalf("% x: came back to %#x", b, r.Rip)
			}
			if ok, _ := p.Emulate(&r, refuse{syscall.EFAULT}); ok && p.Kind() != Emulate {
				t.Fatalf("% x: emulated", b)
			}
		}
	})
}

func BenchmarkEmulate(b *testing.B) {
	for _, c := range []struct{ name, code string }{
		{"endbr64", "f30f1efa"}, {"push", "55"}, {"sub", "4883ec08"}, {"call", "e811000000"}, {"mov-mem", "488b0511000000"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := MakePlan(code(b, c.code), 0x401000)
			if err != nil {
				b.Fatal(err)
			}
			m := &space{base: 0x401000, b: make([]byte, 8192)}
			r := Regs{}
			b.ReportAllocs()
			for b.Loop() {
				r.Rip, r.Rsp = 0x401000, 0x401000+4096+512
				if ok, err := p.Emulate(&r, m); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkMakePlan(b *testing.B) {
	c := code(b, "4883ec08 4889e5 488d0511000000")
	for b.Loop() {
		if _, err := MakePlan(c, 0x401000); err != nil {
			b.Fatal(err)
		}
	}
}
