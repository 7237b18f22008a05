package x86_test

import (
	"encoding/binary"
	"syscall"
	"testing"

	"ptools/internal/mem"
	"ptools/internal/ptrace"
	"ptools/internal/x86"
)

// syscallPlan puts a syscall instruction in the lab, and its copy in the near slot.
// It returns the registers for the call nr, at the breakpoint.
func syscallPlan(l *lab, nr uint64, args ...uint64) (x86.Plan, x86.Regs) {
	l.t.Helper()
	insn := []byte{0x0f, 0x05, int3}
	p, err := x86.MakePlan(insn, labCode)
	l.must(err)
	c, err := p.Displaced(labNearSlot)
	l.must(err)
	l.put(insn, labCode)
	l.put(c.Code, labNearSlot)
	r := l.base
	r.Rip, r.Rax, r.Rsp = labCode, nr, labData+4096
	for i, a := range args {
		*[...]*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.R10, &r.R8, &r.R9}[i] = a
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
	if !p.Exit(&r, labNearSlot, saved, l) || r != native {
		t.Errorf("displaced: %+v, want %+v", r, native)
	}
}

// TestForkDisplaced: the child of a displaced fork begins in the slot.
func TestForkDisplaced(t *testing.T) {
	l := newLab(t)
	p, r := syscallPlan(l, syscall.SYS_FORK)
	saved := p.Enter(&r, labNearSlot)
	l.setRegs(&r)
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
	if !p.Exit(&r, labNearSlot, saved, l) || r.Rip != labCode+2 || int(r.Rax) != child {
		t.Errorf("parent is at %#x with rax %d", r.Rip, r.Rax)
	}
	c := l.regs(child)
	if !p.Exit(&c, labNearSlot, x86.Saved{}, l) || c.Rip != labCode+2 || c.Rcx == labNearSlot+2 || c.Rax != 0 {
		t.Errorf("child is at %#x with rcx %#x, rax %d", c.Rip, c.Rcx, c.Rax)
	}
}

// TestSigreturnDisplaced steps a copy of the syscall instruction that ends a
// signal handler. The registers are the interrupted ones, and nothing is corrected.
func TestSigreturnDisplaced(t *testing.T) {
	l := newLab(t)
	m, err := mem.Open(l.pid)
	l.must(err)
	defer m.Close()

	interrupted := l.base
	interrupted.Rip, interrupted.Rcx, interrupted.R11 = labCode+7, 0x1111, 0x2222
	l.put([]byte{0x90}, labCode+7)
	l.setRegs(&interrupted)
	l.must(ptrace.Kill(l.pid, l.pid, syscall.SIGUSR1))
	l.must(ptrace.Cont(l.pid, 0))
	if s := l.wait(l.pid); s.Signal != syscall.SIGUSR1 {
		t.Fatalf("stop is %v %v", s.Kind, s.Signal)
	}
	l.must(ptrace.SingleStep(l.pid, syscall.SIGUSR1)) // to the handler's first instruction
	var r x86.Regs
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
	insn := make([]byte, 16)
	_, err = m.ReadAt(insn, int64(at))
	l.must(err)
	p, err := x86.MakePlan(insn, at)
	l.must(err)
	if !p.IsSyscall() {
		t.Skipf("the restorer at %#x is % x: not glibc's", at, insn)
	}
	c, err := p.Displaced(labNearSlot)
	l.must(err)
	l.put(c.Code, labNearSlot)
	saved := p.Enter(&r, labNearSlot)
	l.step(&r)
	if !p.Exit(&r, labNearSlot, saved, l) {
		t.Error("not done")
	}
	if r.Eflags &^= flagRF; r != interrupted {
		t.Errorf("after sigreturn: %+v, want %+v", r, interrupted)
	}
}
