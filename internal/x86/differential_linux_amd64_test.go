package x86_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptools/internal/ptest"
	"ptools/internal/x86"
)

var (
	rounds = flag.Int("x86.rounds", 0, "random values for each opcode of the differential test (0: as the length of the tests says)")
	seed   = flag.Uint64("x86.seed", 0, "seed of the differential test; 0: a new one")
)

// outcome is everything an instruction can change.
type outcome struct {
	regs x86.Regs
	sig  syscall.Signal
	data [labHalf]byte
	x    xstate
}

// trial is one instruction with one set of values.
type trial struct {
	l      *lab
	in     x86.Sample
	plan   x86.Plan
	before outcome
	native outcome
}

// TestDifferential runs random instructions in three ways: by the processor in
// their own place, emulated, and as a copy in a near and a far slot. Registers,
// flags, memory, vector state and faults must be the same.
func TestDifferential(t *testing.T) {
	l := newLab(t)
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	n := *rounds
	if n == 0 {
		n = ptest.Rounds(4, 6, 20)
	}
	t.Logf("seed %d on %s", s, ptest.Processor())
	d := x86.Dice{Rand: rand.New(rand.NewPCG(s, 0)), Code: labCode, Data: labData, Size: labHalf}
	var count struct{ all, emulated, declined, displaced, direct, faults int }
	for _, f := range x86.Forms() {
		for range f.Share(n) {
			tr, ok := newTrial(l, d, f)
			if !ok {
				continue
			}
			if tr.runNative(); wild(&tr.native.regs) {
				continue
			}
			count.all++
			if tr.native.sig != syscall.SIGTRAP {
				count.faults++
			}
			switch ok, err := tr.emulate(); {
			case err != "":
				t.Fatalf("seed %d: %s emulated: %s", s, tr, err)
			case ok:
				count.emulated++
			case tr.plan.Kind() == x86.Emulate && tr.native.sig == syscall.SIGTRAP:
				count.declined++
			}
			for _, slot := range [...]uint64{labNearSlot, labFarSlot} {
				if err := tr.displace(slot); err != "" {
					t.Fatalf("seed %d: %s in slot %#x: %s", s, tr, slot, err)
				}
				count.displaced++
			}
			if ran, err := tr.direct(); err != "" {
				t.Fatalf("seed %d: %s continued: %s", s, tr, err)
			} else if ran {
				count.direct++
			}
		}
	}
	t.Logf("%+v", count)
	if count.emulated == 0 || count.direct == 0 || count.declined > count.emulated/10 {
		t.Errorf("too few were compared: %+v", count)
	}
}

// wild reports whether the stack pointer is no user address. On hypervisors without support of the processor (PVM) the next
// exception then comes out wrong.
func wild(r *x86.Regs) bool { return r.Rsp>>47 != 0 }

func newTrial(l *lab, d x86.Dice, f x86.Form) (*trial, bool) {
	in, ok := d.Sample(f)
	if !ok {
		return nil, false
	}
	tr := &trial{l: l, in: in}
	var err error
	if tr.plan, err = x86.MakePlan(in.Code(), labCode); err != nil {
		l.t.Fatalf("% x: decoded, but %v", in.Code(), err)
	}
	if tr.plan.Kind() == x86.StepAll || tr.plan.IsSyscall() || in.Stores87() {
		return nil, false
	}
	b := &tr.before
	b.regs = d.Registers(&in, l.base)
	if wild(&b.regs) {
		return nil, false
	}
	for i := 0; i < len(b.data); i += 8 {
		v := d.Number()
		for j := range 8 {
			b.data[i+j] = byte(v >> (8 * j))
		}
	}
	b.x = bytes.Clone(l.clean)
	for i := 160; i < 416; i++ { // xmm registers
		b.x[i] = byte(d.Uint32())
	}
	for i := 576; i < 832; i++ { // upper halves of the ymm registers
		b.x[i] = byte(d.Uint32())
	}
	b.x[512] |= 7 // present: x87, SSE, AVX
	return tr, true
}

func (tr *trial) String() string {
	return fmt.Sprintf("% x (%v)", tr.in.Code(), tr.plan.Kind())
}

// start restores the memory and the state from before.
func (tr *trial) start() {
	copy(tr.l.data(), tr.before.data[:])
	tr.before.x.write(tr.l)
}

// end records the outcome of a run that ended with r and sig.
func (tr *trial) end(o *outcome, r x86.Regs, sig syscall.Signal) {
	o.regs, o.sig = r, sig
	// PTRACE_SETREGS can neither set nor clear ID, so a popf's stays for good.
	o.regs.Eflags &^= flagRF | flagID
	copy(o.data[:], tr.l.data())
	o.x = tr.l.readXState()
	o.x.settle()
	if tr.in.Is(0x9d) {
		tr.l.calm()
	}
}

func (tr *trial) runNative() {
	tr.start()
	tr.l.put(tr.in.Code(), labCode)
	r := tr.before.regs
	sig := tr.l.step(&r)
	tr.end(&tr.native, r, sig)
	if tr.in.Is(0x9c) && sig == syscall.SIGTRAP {
		// The processor pushed the single step's TF with the flags.
		i := r.Rsp - labData
		tr.native.data[i+1] &^= flagTF >> 8
	}
}

// emulate reports whether the plan could emulate, and what differs.
func (tr *trial) emulate() (bool, string) {
	if tr.plan.Kind() != x86.Emulate {
		return false, ""
	}
	copy(tr.l.data(), tr.before.data[:])
	r := tr.before.regs
	ok, err := tr.plan.Emulate(&r, tr.l)
	if err != nil {
		return false, err.Error()
	}
	if !ok {
		if r != tr.before.regs || !bytes.Equal(tr.l.data(), tr.before.data[:]) {
			return false, "declined, but changed something"
		}
		return false, ""
	}
	if tr.native.sig != syscall.SIGTRAP {
		return true, "the processor faults"
	}
	r.Eflags &^= flagRF | flagID
	if err := tr.compare(&r, tr.l.data()); err != "" {
		return true, err
	}
	return true, ""
}

func (tr *trial) compare(r *x86.Regs, data []byte) string {
	if *r != tr.native.regs {
		return "registers: " + cmp.Diff(tr.native.regs, *r) + cmp.Diff(tr.before.regs, tr.native.regs)
	}
	for i, c := range data {
		if n := tr.native.data[i]; c != n {
			return fmt.Sprintf("memory at %#x is %#x, want %#x", labData+i, c, n)
		}
	}
	return ""
}

func (tr *trial) displace(slot uint64) string {
	tr.start()
	c, err := tr.plan.Displaced(slot)
	if err != nil {
		return err.Error()
	}
	tr.l.put(c.Code, slot)
	r := tr.before.regs
	saved := tr.plan.Enter(&r, slot)
	sig := tr.l.step(&r)
	done := tr.plan.Exit(&r, slot, saved, tr.l)
	var o outcome
	tr.end(&o, r, sig)
	if tr.in.Is(0x9c) && done {
		o.data[r.Rsp-labData+1] &^= flagTF >> 8
	}
	if o.sig != tr.native.sig {
		return fmt.Sprintf("stopped with %v, want %v", o.sig, tr.native.sig)
	}
	if want := tr.native.regs.Rip != labCode; done != want {
		return fmt.Sprintf("done %t, want %t", done, want)
	}
	if !bytes.Equal(o.x, tr.native.x) {
		return "vector state differs"
	}
	return tr.compare(&o.regs, o.data[:])
}

// direct lets the thread run the copy and the jump behind it, up to a trap at
// the next instruction.
func (tr *trial) direct() (bool, string) {
	c, err := tr.plan.Displaced(labNearSlot)
	if err != nil {
		return false, err.Error()
	}
	n := &tr.native.regs
	next := uint64(labCode + tr.plan.Len())
	if !c.Direct || tr.native.sig != syscall.SIGTRAP || n.Rip != next || n.Eflags&(flagTF|flagAC) != 0 {
		return false, ""
	}
	tr.start()
	tr.l.put(c.Code, labNearSlot)
	tr.l.put([]byte{int3}, next)
	r := tr.before.regs
	r.Rip = labNearSlot
	sig := tr.l.run(&r)
	r.Rip--
	var o outcome
	tr.end(&o, r, sig)
	if !bytes.Equal(o.x, tr.native.x) {
		return true, "vector state differs"
	}
	return true, tr.compare(&o.regs, o.data[:])
}
