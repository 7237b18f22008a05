package bkpt

import (
	"encoding/binary"
	"syscall"
	"testing"

	"ptools/internal/mem"
	"ptools/internal/ptrace"
)

// syscallPlan puts a syscall instruction in the lab, its copy in the near slot,
// and makes a call of it: registers at the breakpoint.
func syscallPlan(l *lab, nr uint64, args ...uint64) (Plan, ptrace.Regs) {
	l.t.Helper()
	insn := []byte{0x0f, 0x05, 0xcc}
	p, err := MakePlan(insn, labCode)
	l.must(err)
	c, err := p.Displaced(labNearSlot)
	l.must(err)
	l.put(insn, labCode)
	l.put(c.Code, labNearSlot)
	r := l.base
	r.Rip, r.Rax, r.Rsp = labCode, nr, labData+4096
	for i, a := range args {
		*gpr(&r, [...]uint8{rdi, rsi, rdx, 10, 8, 9}[i]) = a
	}
	return p, r
}

func TestSyscallDisplaced(t *testing.T) {
	l := newLab(t)
	p, before := syscallPlan(l, syscall.SYS_GETPID)
	native := before
	if sig := l.step(&native); sig != syscall.SIGTRAP || native.Rax != uint64(l.pid) {
		t.Fatalf("natively: %v, rax %d", sig, native.Rax)
	}
	if native.Rcx == labCode+2 {
		native.R11 &^= flagTF // the step's
	}
	r := before
	saved := p.Enter(&r, labNearSlot)
	l.step(&r)
	if !p.Leave(&r, labNearSlot, saved, l) || r != native {
		t.Errorf("displaced: %+v, want %+v", r, native)
	}
}

// TestSyscallKeepsRegisters: with FRED a system call changes neither rcx nor r11
// (arch/x86/entry/entry_fred.c), so what a program has in them is not a return address.
func TestSyscallKeepsRegisters(t *testing.T) {
	p, err := MakePlan([]byte{0x0f, 0x05}, labCode)
	if err != nil {
		t.Fatal(err)
	}
	for _, rcx := range []uint64{0, labCode, labNearSlot, labNearSlot + 2} {
		r := ptrace.Regs{Rip: labNearSlot + 2, Rcx: rcx, R11: flagTF | flagCF}
		want := ptrace.Regs{Rip: labCode + 2, Rcx: rcx, R11: flagTF | flagCF}
		if rcx == labNearSlot+2 { // without FRED
			want.Rcx, want.R11 = labCode+2, flagCF
		}
		if !p.Leave(&r, labNearSlot, Saved{}, newText()) || r != want {
			t.Errorf("rcx %#x before: %+v, want %+v", rcx, r, want)
		}
	}
}

// TestForkDisplaced: the child of a displaced fork begins in the slot.
func TestForkDisplaced(t *testing.T) {
	l := newLab(t)
	p, r := syscallPlan(l, syscall.SYS_FORK)
	saved := p.Enter(&r, labNearSlot)
	l.must(ptrace.SetRegs(l.pid, &r))
	l.must(ptrace.SingleStep(l.pid, 0))
	if s := l.wait(l.pid); s.Kind != ptrace.KindFork {
		t.Fatalf("stop is %v", s.Kind)
	}
	msg, err := ptrace.EventMsg(l.pid)
	l.must(err)
	child := int(msg)
	t.Cleanup(func() {
		syscall.Kill(child, syscall.SIGKILL)
		l.wait(child)
	})
	if s := l.wait(child); s.Kind != ptrace.KindEventStop {
		t.Fatalf("child's first stop is %v", s.Kind)
	}
	l.must(ptrace.SingleStep(l.pid, 0))
	if sig := l.stopped(&r); sig != syscall.SIGTRAP {
		t.Fatalf("parent stopped with %v", sig)
	}
	if !p.Leave(&r, labNearSlot, saved, l) || r.Rip != labCode+2 || int(r.Rax) != child {
		t.Errorf("parent is at %#x with rax %d", r.Rip, r.Rax)
	}
	var c ptrace.Regs
	l.must(ptrace.GetRegs(child, &c))
	if !p.Leave(&c, labNearSlot, Saved{}, l) || c.Rip != labCode+2 || c.Rcx == labNearSlot+2 || c.Rax != 0 {
		t.Errorf("child is at %#x with rcx %#x, rax %d", c.Rip, c.Rcx, c.Rax)
	}
}

// TestSigreturnDisplaced steps a copy of the syscall instruction that ends a
// signal handler: registers are the interrupted ones, nothing is corrected.
func TestSigreturnDisplaced(t *testing.T) {
	l := newLab(t)
	m, err := mem.Open(l.pid)
	l.must(err)
	defer m.Close()

	interrupted := l.base
	interrupted.Rip, interrupted.Rcx, interrupted.R11 = labCode+7, 0x1111, 0x2222
	l.put([]byte{0x90}, labCode+7)
	l.must(ptrace.SetRegs(l.pid, &interrupted))
	l.must(ptrace.Kill(l.pid, l.pid, syscall.SIGUSR1))
	l.must(ptrace.Cont(l.pid, 0))
	if s := l.wait(l.pid); s.Signal != syscall.SIGUSR1 {
		t.Fatalf("stop is %v %v", s.Kind, s.Signal)
	}
	l.must(ptrace.SingleStep(l.pid, syscall.SIGUSR1)) // to the handler's first instruction
	var r ptrace.Regs
	if sig := l.stopped(&r); sig != syscall.SIGTRAP {
		t.Fatalf("stopped with %v", sig)
	}
	// As if the handler had returned and the restorer had loaded rax.
	var word [8]byte
	_, err = m.ReadAt(word[:], int64(r.Rsp))
	l.must(err)
	r.Rsp += 8
	r.Rax = syscall.SYS_RT_SIGRETURN
	at := binary.LittleEndian.Uint64(word[:]) + 7 // mov rax, 15
	insn := make([]byte, codeSize)
	_, err = m.ReadAt(insn, int64(at))
	l.must(err)
	p, err := MakePlan(insn, at)
	l.must(err)
	if !p.IsSyscall() {
		t.Skipf("the restorer at %#x is % x: not glibc's", at, insn)
	}
	c, err := p.Displaced(labNearSlot)
	l.must(err)
	l.put(c.Code, labNearSlot)
	saved := p.Enter(&r, labNearSlot)
	l.step(&r)
	if !p.Leave(&r, labNearSlot, saved, l) {
		t.Error("not done")
	}
	if r.Eflags &^= flagRF; r != interrupted {
		t.Errorf("after sigreturn: %+v, want %+v", r, interrupted)
	}
}

// TestRelocate: a thread anywhere in a slot is moved to where it would be
// without, whatever has become of the breakpoint.
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
		r := ptrace.Regs{Rip: c.pc}
		in, done := s.Relocate(&r, Saved{}, m)
		if in != c.inSlot || done != c.done || r.Rip != c.want {
			t.Errorf("Relocate at %#x: %t, %t, %#x, want %t, %t, %#x", c.pc, in, done, r.Rip, c.inSlot, c.done, c.want)
		}
	}
}

func BenchmarkEmulate(b *testing.B) {
	for _, c := range []struct{ name, code string }{
		{"endbr64", "f30f1efa"}, {"push", "55"}, {"sub", "4883ec08"}, {"call", "e811000000"}, {"mov-mem", "488b0511000000"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := MakePlan(code(b, c.code), textBase)
			if err != nil {
				b.Fatal(err)
			}
			m := newText()
			r := ptrace.Regs{}
			b.ReportAllocs()
			for b.Loop() {
				r.Rip, r.Rsp = textBase, textBase+4096+512
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
		if _, err := MakePlan(c, textBase); err != nil {
			b.Fatal(err)
		}
	}
}
