package perfevent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
)

// text is memory of a process that begins at textAt and ends with a page.
type text []byte

const textAt = 0x7000

func (b text) ReadAt(p []byte, addr int64) (int, error) {
	at := addr - textAt
	if at < 0 || at >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// newMachine returns a machine with a few words, a table with room for two values, and a queue.
func newMachine() *machine {
	return &machine{
		regions: []region{{make([]byte, 64), true}, {make([]byte, 16), false}, {nil, false}},
		tables:  map[int]*table{trapOpen: newMachineTable(trapOpen, 8, 16, 2)},
		queue:   &queue{most: 64}, clock: func() uint64 { return 42 }, comm: func(int, int) []byte { return []byte("a name") },
		context: make([]byte, 168),
	}
}

// result runs a program and returns what it leaves in a word.
func (m *machine) result(code ...instruction) uint64 {
	hit := &TrapHit{PID: 7, TID: 9, Regs: new(ptrace.Regs), Memory: append(text("a text\x00no end"), bytes.Repeat([]byte{'x'}, 4096-0xd)...)}
	code = append(code,
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_VALUE, imm: trapWords}, instruction{},
		instruction{op: bpfStoreDW, dst: 1, src: 0})
	m.run(finish(code), hit, 0x1234)
	return m.load(newAddr(trapWords, 0), 8)
}

// TestMachine: instructions and helpers do what the kernel's do.
func TestMachine(t *testing.T) {
	set := func(reg uint8, n int32) instruction { return instruction{op: bpfMovImm, dst: reg, imm: n} }
	stack := func(reg uint8, off int32) []instruction {
		return []instruction{{op: bpfMovReg, dst: reg, src: 10}, {op: bpfAddImm, dst: reg, imm: off}}
	}
	for name, test := range map[string]struct {
		want uint64
		code []instruction
	}{
		"a negative immediate":  {^uint64(0), []instruction{set(0, -1)}},
		"no division by zero":   {0, []instruction{set(0, 9), set(1, 0), {op: bpfDivReg, dst: 0, src: 1}}},
		"no remainder by zero":  {9, []instruction{set(0, 9), {op: bpfModuloImm, dst: 0}}},
		"division has no sign":  {1<<63 - 1, []instruction{set(0, -1), set(1, 2), {op: bpfDivReg, dst: 0, src: 1}}},
		"shift with sign":       {^uint64(0), []instruction{set(0, -8), {op: bpfSignRight, dst: 0, imm: 3}}},
		"a shift by 64 bits":    {5, []instruction{set(0, 5), set(1, 64), {op: bpfRightReg, dst: 0, src: 1}}},
		"a signed comparison":   {3, []instruction{set(0, -3), {op: bpfJumpSignLT, dst: 0, off: 1}, set(0, 1), {op: bpfNegate, dst: 0}}},
		"an unsigned one":       {1, []instruction{set(0, 1), set(1, -3), {op: bpfJumpGT, dst: 1, imm: 3, off: 1}, set(0, 2)}},
		"a constant of 64 bits": {1<<32 | 2, []instruction{{op: bpfLoad64, dst: 0, imm: 2}, {imm: 1}}},
		"the cookie":            {0x1234, []instruction{{op: bpfCall, imm: helperAttachCookie}}},
		"the time":              {42, []instruction{{op: bpfCall, imm: helperTime}}},
		"the thread":            {7<<32 | 9, []instruction{{op: bpfCall, imm: helperPIDTGID}}},
		"a text":                {7, append(stack(1, -16), set(2, 16), set(3, textAt), instruction{op: bpfCall, imm: helperReadUserText})},
		"a text that is cut":    {4, append(stack(1, -16), set(2, 4), set(3, textAt+7), instruction{op: bpfCall, imm: helperReadUserText})},
		"no text":               {failed, append(stack(1, -16), set(2, 16), set(3, textAt+4090), instruction{op: bpfCall, imm: helperReadUserText})},
		"no memory":             {failed, append(stack(1, -8), set(2, 8), set(3, textAt+4092), instruction{op: bpfCall, imm: helperReadUser})},
		"an exchange that fails": {8, append(stack(1, -8), set(2, 8), instruction{op: bpfStoreDW, dst: 1, src: 2}, set(0, 5), set(2, 6),
			instruction{op: bpfAtomic, dst: 1, src: 2, imm: bpfExchange})},
		"the value before": {8, append(stack(1, -8), set(2, 8), instruction{op: bpfStoreDW, dst: 1, src: 2},
			instruction{op: bpfAtomic, dst: 1, src: 2, imm: bpfFetchAdd}, instruction{op: bpfMovReg, dst: 0, src: 2})},
	} {
		m := newMachine()
		if got := m.result(test.code...); got != test.want || m.accesses != nil {
			t.Errorf("%s: %#x, want %#x; %v", name, got, test.want, m.accesses)
		}
	}
}

// TestMachineTable: a table has as many values as it may, those that are removed make room, and keys are found again.
func TestMachineTable(t *testing.T) {
	m := newMachine()
	do := func(helper int32, key uint64, flags uint64) uint64 {
		m.store(newAddr(trapWords, 0)+8, 8, key)
		m.store(newAddr(trapWords, 0)+16, 8, 100*key)
		m.regs[1], m.regs[2], m.regs[3], m.regs[4] = trapOpen, newAddr(trapWords, 0)+8, newAddr(trapWords, 0)+16, flags
		return m.call(helper)
	}
	for i, step := range []struct {
		helper     int32
		key, flags uint64
		want       uint64
	}{
		{helperMapUpdate, 1, 0, 0}, {helperMapUpdate, 2, 0, 0}, {helperMapUpdate, 3, 0, full}, {helperMapUpdate, 2, updateIfAbsent, exists},
		{helperMapUpdate, 2, 0, 0}, {helperMapDelete, 1, 0, 0}, {helperMapDelete, 1, 0, absent}, {helperMapLookup, 1, 0, 0}, {helperMapUpdate, 3, 0, 0},
	} {
		if got := do(step.helper, step.key, step.flags); got != step.want {
			t.Errorf("step %d: %#x, want %#x", i, got, step.want)
		}
	}
	for key := uint64(2); key <= 3; key++ {
		if at := do(helperMapLookup, key, 0); at == 0 || m.load(at, 8) != 100*key {
			t.Errorf("the value of %d is %d", key, m.load(at, 8))
		}
	}
	if m.accesses != nil {
		t.Error(m.accesses)
	}
}

// TestMachineBounds: no program, however wrong, gets at memory that is not its own. It ends with an error, or by itself.
func TestMachineBounds(t *testing.T) {
	m := newMachine()
	if m.result(instruction{op: bpfMovImm, dst: 1, imm: 8}, instruction{op: bpfLoadDW, dst: 0, src: 1}); !errors.Is(m.accesses, errAccess) {
		t.Errorf("a load from nowhere: %v", m.accesses)
	}
	m = newMachine()
	if m.result(instruction{op: bpfStoreDW, dst: 10, src: 0}); !errors.Is(m.accesses, errAccess) {
		t.Errorf("a store above the stack: %v", m.accesses)
	}
	random := ptest.Rand(t)
	for range ptest.Rounds(2000, 20_000, 2_000_000) {
		m, code := newMachine(), make([]instruction, 24)
		for i := range code {
			code[i] = anyInstruction(random)
		}
		m.result(code...)
	}
}

// anyInstruction returns one that exists, mostly.
func anyInstruction(random *rand.Rand) instruction {
	ops := []uint8{bpfCall, bpfMovReg, bpfMovImm, bpfAddImm, bpfAddReg, bpfSubReg, bpfAndImm, bpfLeftImm, bpfStoreW, bpfStoreDW, bpfStoreB, bpfLoadW,
		bpfLoadB, bpfLoadDW, bpfJumpNe, bpfLoad64, bpfAtomic, bpfDivReg, bpfModuloImm, uint8(random.Uint32())}
	helpers := []int32{helperTime, helperMapLookup, helperMapUpdate, helperMapDelete, helperRingOutput, helperRingReserve, helperRingSubmit, helperReadUser,
		helperReadUserText, helperReadKernel, helperCurrentComm, helperPIDTGID, int32(random.Uint32())}
	i := instruction{op: ops[random.IntN(len(ops))], dst: uint8(random.IntN(11)), src: uint8(random.IntN(11)), off: int16(random.IntN(64) - 32), imm: int32(random.Uint32())}
	switch {
	case i.op == bpfCall:
		i.imm = helpers[random.IntN(len(helpers))]
	case i.op == bpfLoad64:
		i.src, i.imm = uint8(random.IntN(3)), int32(random.IntN(0x90))
	case random.IntN(2) == 0:
		i.imm %= 600
	}
	if i.op == bpfMovImm && i.imm%7 == 0 {
		i.imm = -i.imm // sizes of all kinds
	}
	if i.op&7 == opJump {
		i.off = int16(random.IntN(8))
	}
	return i
}

// TestContext: the registers of ptrace are those of the kernel's programs.
func TestContext(t *testing.T) {
	if len(contextOf(new(ptrace.Regs))) == 0 {
		t.Skip("calls are not counted on this processor")
	}
	b := make([]uint64, unsafe.Sizeof(ptrace.Regs{})/8)
	r := (*ptrace.Regs)(unsafe.Pointer(&b[0]))
	r.SetPC(1)
	r.SetSP(2)
	c := contextOf(r)
	if ip, sp := binary.NativeEndian.Uint64(c[ctxIP:]), binary.NativeEndian.Uint64(c[ctxSP:]); ip != 1 || sp != 2 {
		t.Errorf("pc %d, sp %d", ip, sp)
	}
}
