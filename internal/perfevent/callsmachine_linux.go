package perfevent

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A machine runs the programs of a Calls in this process, where the kernel may not. It has the instructions and the helpers that these use, and no
// others. An address that a program computes is a region and an offset (newAddr): each access is checked against the memory of its region.

// machine has the memory that programs work with. One goroutine at a time runs programs.
type machine struct {
	regions  []region // by their numbers
	tables   map[int]*table
	queue    *queue
	hit      *TrapHit
	cookie   uint64
	regs     [11]uint64
	stack    [stackSize]byte
	context  []byte
	record   []byte // that is reserved
	comm     func(pid, tid int) []byte
	clock    func() uint64
	accesses error // the first access of a program that is not one of its own
}

// stackSize is that of the kernel's programs (MAX_BPF_STACK).
const stackSize = 512

// A region is a piece of memory of programs.
type region struct {
	bytes  []byte
	shared bool // other goroutines read it: words are atomic
}

// Regions. The maps of a Calls come behind these, and the values of tables behind all.
const (
	regionNone = iota // the null address
	regionStack
	regionContext
	regionRecord
	regionMaps
	regionTables = 0x80
)

// newAddr returns an address. The upper eight bits are the region, the next 24 the number of a table's value.
func newAddr(region int, slot uint32) uint64 { return uint64(region)<<56 | uint64(slot)<<32 }

// errAccess: a program has left its memory. The programs of a Calls never do.
var errAccess = errors.New("a program has left its memory")

// at returns size bytes at an address; nil if they are not memory of the program.
func (m *machine) at(addr uint64, size int) (b []byte, shared bool) {
	off := int64(uint32(addr))
	switch number := int(addr >> 56); {
	case number == regionStack:
		b = m.stack[:]
	case number == regionContext:
		b = m.context
	case number == regionRecord:
		b = m.record
	case number >= regionTables:
		if t := m.tables[number]; t != nil {
			b = t.value(uint32(addr >> 32 & (1<<24 - 1)))
		}
	case number >= regionMaps && number-regionMaps < len(m.regions):
		r := &m.regions[number-regionMaps]
		b, shared = r.bytes, r.shared
	}
	if size < 0 || off > int64(len(b)) || int64(size) > int64(len(b))-off {
		m.fail()
		return nil, false
	}
	return b[off : off+int64(size)], shared
}

func (m *machine) fail() {
	if m.accesses == nil {
		m.accesses = errAccess
	}
}

// load reads a number of 1, 4 or 8 bytes.
func (m *machine) load(addr uint64, size int) uint64 {
	b, shared := m.at(addr, size)
	switch {
	case b == nil:
		return 0
	case shared && size == 8 && addr%8 == 0:
		return atomic.LoadUint64((*uint64)(unsafe.Pointer(&b[0])))
	}
	var n uint64
	for i, v := range b {
		n |= uint64(v) << (8 * i)
	}
	return n
}

// store writes one.
func (m *machine) store(addr uint64, size int, n uint64) {
	b, shared := m.at(addr, size)
	if shared && size == 8 && addr%8 == 0 {
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[0])), n)
		return
	}
	for i := range b {
		b[i] = byte(n >> (8 * i))
	}
}

// change is an atomic operation on eight bytes.
func (m *machine) change(i *instruction, addr uint64) {
	b, _ := m.at(addr, 8)
	if b == nil || addr%8 != 0 {
		m.fail()
		return
	}
	word, with := (*uint64)(unsafe.Pointer(&b[0])), &m.regs[i.src]
	switch i.imm {
	case 0:
		atomic.AddUint64(word, *with)
	case bpfFetchAdd:
		*with = atomic.AddUint64(word, *with) - *with
	case bpfExchange: // register 0 becomes the old value
		for {
			old := atomic.LoadUint64(word)
			if old != m.regs[0] || atomic.CompareAndSwapUint64(word, old, *with) {
				m.regs[0] = old
				return
			}
		}
	default:
		m.fail()
	}
}

// Classes and parts of opcodes (linux/bpf_common.h).
const (
	opClass  = 0x07
	opMove   = 0x07 // of 64 bits
	opJump   = 0x05
	opSource = 0x08 // a register
)

// run runs a program for a thread at a trap.
func (m *machine) run(code []instruction, hit *TrapHit, cookie uint64) {
	m.hit, m.cookie = hit, cookie
	m.regs = [11]uint64{1: newAddr(regionContext, 0), 10: newAddr(regionStack, 0) + stackSize}
	for pc := 0; pc < len(code) && m.accesses == nil; pc++ {
		i := &code[pc]
		to := &m.regs[i.dst]
		with := uint64(int64(i.imm))
		if i.op&opSource != 0 {
			with = m.regs[i.src]
		}
		switch {
		case i.op == bpfExit:
			return
		case i.op == bpfCall:
			m.regs[0] = m.call(i.imm)
		case i.op == bpfLoad64:
			pc++
			*to = m.constant(i, code[pc].imm)
		case i.op == bpfAtomic:
			m.change(i, *to+uint64(int64(i.off)))
		case i.op == bpfLoadB, i.op == bpfLoadW, i.op == bpfLoadDW:
			*to = m.load(m.regs[i.src]+uint64(int64(i.off)), sizeOf(i.op))
		case i.op == bpfStoreB, i.op == bpfStoreW, i.op == bpfStoreDW:
			m.store(*to+uint64(int64(i.off)), sizeOf(i.op), m.regs[i.src])
		case i.op&opClass == opMove:
			m.compute(i.op, to, with)
		case i.op&opClass == opJump:
			if m.jumps(i.op, *to, with) {
				pc += int(i.off)
			}
		default:
			m.fail()
		}
	}
}

// sizeOf returns the size of an access.
func sizeOf(op uint8) int { return [...]int{4, 2, 1, 8}[op>>3&3] }

// constant returns the value of an instruction that takes the room of two: a number, a map, or an address in the value of a map.
func (m *machine) constant(i *instruction, more int32) uint64 {
	switch i.src {
	case unix.BPF_PSEUDO_MAP_FD:
		return uint64(uint32(i.imm))
	case unix.BPF_PSEUDO_MAP_VALUE:
		return newAddr(int(i.imm), 0) + uint64(uint32(more))
	}
	return uint64(uint32(i.imm)) | uint64(uint32(more))<<32
}

// compute is the arithmetic of 64 bits.
func (m *machine) compute(op uint8, to *uint64, with uint64) {
	switch op &^ opSource {
	case bpfAddImm:
		*to += with
	case bpfSubReg &^ opSource:
		*to -= with
	case bpfMulImm:
		*to *= with
	case bpfDivReg &^ opSource:
		if with == 0 {
			*to = 0
		} else {
			*to /= with
		}
	case bpfModuloImm:
		if with != 0 {
			*to %= with
		}
	case bpfOrImm:
		*to |= with
	case bpfAndImm:
		*to &= with
	case bpfXorReg &^ opSource:
		*to ^= with
	case bpfLeftImm:
		*to <<= with & 63
	case bpfRightImm:
		*to >>= with & 63
	case bpfSignRight:
		*to = uint64(int64(*to) >> (with & 63))
	case bpfNegate:
		*to = -*to
	case bpfMovImm:
		*to = with
	default:
		m.fail()
	}
}

// jumps reports whether a jump is taken.
func (m *machine) jumps(op uint8, a, b uint64) bool {
	switch op &^ opSource {
	case bpfJump:
		return true
	case bpfJumpEq:
		return a == b
	case bpfJumpNe:
		return a != b
	case bpfJumpSet:
		return a&b != 0
	case bpfJumpGT:
		return a > b
	case bpfJumpGE:
		return a >= b
	case bpfJumpLE:
		return a <= b
	case 0xa5:
		return a < b
	case 0x65:
		return int64(a) > int64(b)
	case bpfJumpNoSign:
		return int64(a) >= int64(b)
	case bpfJumpSignLT:
		return int64(a) < int64(b)
	case 0xd5:
		return int64(a) <= int64(b)
	}
	m.fail()
	return false
}
