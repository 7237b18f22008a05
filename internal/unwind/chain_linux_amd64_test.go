package unwind

import (
	"slices"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// kernelChain is the longest chain that the kernel finds for a stopped thread, by default.
const kernelChain = 127

// pointers follows the frame pointers from rbp on, as the kernel does.
func (r *tracee) pointers(regs *ptrace.Regs) (chain []uint64) {
	var v view
	v.reset(&Stack{Mem: r.mem})
	for fp := regs.Rbp; len(chain) < kernelChain; {
		next, ok1 := v.word(fp)
		pc, ok2 := v.word(fp + 8)
		if !ok1 || !ok2 {
			break
		}
		chain = append(chain, pc)
		fp = next
	}
	return chain
}

// TestChain unwinds each stack of programs twice while the thread is stopped: with all memory, and
// with only a little of the stack and its chain. If the chain leads on, the frames have to be
// exactly the same. If it leads nowhere, the stack ends with the copy.
func TestChain(t *testing.T) {
	for _, c := range []struct {
		name  string
		argv  func(testing.TB) []string
		least int // of a thousand stacks that are longer than a usual copy, and should be within the chain, at least so many are whole
	}{
		{"go", golang("busy.go"), 900},
		{"go-stripped", golang("busy.go", "-ldflags=-s -w"), 900},
		{"garbage", golang("garbage.go"), 900},
		{"runtime", golang("hard.go"), 0},
		{"cgo", golang("cgo.go"), 0},
		{"cgo-thread", golang("cgothread.go"), 0},
		{"c-frame-pointers", c("chain.c", "-fno-omit-frame-pointer"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := ptest.Start(t, c.argv(t)...)
			target.Ready()
			space := openSpace(t, target.PID)
			r := seize(t, target.PID)
			defer r.release()
			p := chained{t: t, space: space, all: New(space), some: New(space)}
			for i := range ptest.Rounds(100, 600, 30_000) {
				tid := r.tids[i%len(r.tids)]
				r.await(tid)
				r.look(tid, func(regs *ptrace.Regs, stack Stack) { p.compare(regs, stack, r.pointers(regs), i) })
			}
			t.Logf("%d stacks, %d cut by the copy, %d whole by the chain", p.stacks, p.cut, p.whole)
			if p.whole*1000 < p.cut*c.least {
				t.Errorf("%d of %d stacks are whole by the chain", p.whole, p.cut)
			}
		})
	}
}

// chained compares stacks with and without all of the memory.
type chained struct {
	t                  *testing.T
	space              *testSpace
	all, some          *Unwinder
	stacks, cut, whole int
}

// enough is more than the size of the system stack below the frame in which a goroutine changes to it.
const enough = 1 << 10

// compare compares the i-th stack.
func (p *chained) compare(regs *ptrace.Regs, stack Stack, chain []uint64, i int) {
	want, wantEnd := p.all.Unwind(regs, stack, nil)
	p.stacks++
	for _, size := range []int{64, enough + 8*(i%100), 8 * enough} {
		copied := Stack{Base: stack.Base, Data: stack.Data[:min(size, len(stack.Data))]}
		if _, end := p.some.Unwind(regs, copied, nil); end == Whole {
			continue
		}
		before := p.some.Counts()
		copied.Chain = chain
		got, end := p.some.Unwind(regs, copied, nil)
		switch {
		case end == Whole && (wantEnd != Whole || !slices.Equal(got, want)):
			p.t.Errorf("%d bytes and a chain of %d lead to\n%v\nand memory to %v\n%v",
				size, len(chain), p.space.names(got), wantEnd, p.space.names(want))
		case size >= enough && p.tells(want):
			p.cut++
			if end == Whole {
				p.whole++
			}
		}
		if after := p.some.Counts(); end == Whole && after.Chained == before.Chained {
			p.t.Errorf("whole, but not by the chain")
		}
		p.garble(regs, copied, want, i)
	}
}

// tells reports whether the chain should cover the whole stack. It need not: the frame pointer is
// cleared where a goroutine's stack grows, and a signal may meet a function without a frame.
func (p *chained) tells(want []Frame) bool {
	return len(want) < kernelChain && !slices.ContainsFunc(p.space.names(want), func(name string) bool {
		return name == "runtime.morestack" || name == "runtime.sigtramp" || name == "runtime.cgoSigtramp"
	})
}

// garble changes the chain, which must not change any result.
func (p *chained) garble(regs *ptrace.Regs, copied Stack, want []Frame, i int) {
	if len(copied.Chain) == 0 {
		return
	}
	at := i % len(copied.Chain)
	for _, chain := range [][]uint64{
		copied.Chain[:at],
		slices.Insert(slices.Clone(copied.Chain), at, copied.Chain[at/2]+1),
	} {
		copied.Chain = chain
		if got, end := p.some.Unwind(regs, copied, nil); end == Whole && !slices.Equal(got, want) {
			p.t.Errorf("garbled at %d of %d, whole:\n%v\nnot\n%v", at, len(chain), p.space.names(got), p.space.names(want))
		}
	}
}
