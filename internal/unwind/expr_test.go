package unwind

import "testing"

// A testMachine has registers that hold their number times 0x100, and memory in
// which every word holds its address, except page zero, which is unmapped.
type testMachine struct{}

func (testMachine) register(c uint8) (uint64, bool) { return uint64(c) * 0x100, c != 15 }

func (testMachine) word(addr uint64) (uint64, bool) { return addr, addr >= pageSize }

func TestExpression(t *testing.T) {
	cfa := uint64(0x7000)
	minus := func(n int64) uint64 { return uint64(-n) }
	for _, test := range []struct {
		name string
		expr []byte
		want uint64
		end  End
	}{
		{"cfa", nil, 0x7000, 0},
		{"lit", []byte{opLit31}, 31, 0},
		{"addr", []byte{opAddr, 1, 2, 0, 0, 0, 0, 0, 0}, 0x10201, 0},
		{"const1u", []byte{opConst1u, 0xff}, 0xff, 0},
		{"const1s", []byte{opConst1s, 0xff}, minus(1), 0},
		{"const2u", []byte{opConst2u, 0xff, 0xff}, 0xffff, 0},
		{"const2s", []byte{opConst2s, 0xfe, 0xff}, minus(2), 0},
		{"const4u", []byte{opConst4u, 0, 0, 0, 0x80}, 0x80000000, 0},
		{"const4s", []byte{opConst4s, 0, 0, 0, 0x80}, minus(0x80000000), 0},
		{"const8u", []byte{opConst8u, 8, 7, 6, 5, 4, 3, 2, 1}, 0x0102030405060708, 0},
		{"const8s", []byte{opConst8s, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, minus(1), 0},
		{"constu", []byte{opConstu, 0x80, 1}, 128, 0},
		{"consts", []byte{opConsts, 0x7f}, minus(1), 0},
		{"breg7", []byte{opBreg0 + 7, 0x78}, 0x6f8, 0},
		{"bregx", []byte{opBregx, 16, 0x78}, 0xff8, 0},
		{"deref", []byte{opDeref}, 0x7000, 0},
		{"deref_size 1", []byte{opConst2u, 0x34, 0x12, opDerefSize, 1}, 0x34, 0},
		{"deref_size at the end of a page", []byte{opConst2u, 0xff, 0x1f, opDerefSize, 1}, 0, 0}, // the highest of 0x1ff8
		{"deref_size 9", []byte{opDerefSize, 9}, 0, BadRule},
		{"deref of nothing", []byte{opLit0, opDeref}, 0, Unreadable},
		{"dup", []byte{opDup, opPlus}, 0xe000, 0},
		{"drop", []byte{opLit0, opDrop}, 0x7000, 0},
		{"over", []byte{opLit0, opOver}, 0x7000, 0},
		{"pick", []byte{opLit0, opLit0, opPick, 2}, 0x7000, 0},
		{"swap", []byte{opLit0, opSwap}, 0x7000, 0},
		{"rot", []byte{opLit0 + 1, opLit0 + 2, opRot}, 1, 0},
		{"rot below", []byte{opLit0 + 1, opLit0 + 2, opRot, opDrop, opDrop}, 2, 0},
		{"abs", []byte{opConst1s, 0xfb, opAbs}, 5, 0},
		{"and", []byte{opLit0 + 12, opLit0 + 10, opAnd}, 8, 0},
		{"div", []byte{opConst1s, 0xf9, opLit0 + 2, opDiv}, minus(3), 0},
		{"div by zero", []byte{opLit0, opDiv}, 0, BadRule},
		{"minus", []byte{opLit0 + 5, opLit0 + 3, opMinus}, 2, 0},
		{"mod", []byte{opLit0 + 17, opLit0 + 5, opMod}, 2, 0},
		{"mod by zero", []byte{opLit0, opMod}, 0, BadRule},
		{"mul", []byte{opLit0 + 5, opLit0 + 3, opMul}, 15, 0},
		{"neg", []byte{opLit0 + 5, opNeg}, minus(5), 0},
		{"not", []byte{opLit0, opNot}, minus(1), 0},
		{"or", []byte{opLit0 + 5, opLit0 + 3, opOr}, 7, 0},
		{"plus", []byte{opLit0 + 8, opPlus}, 0x7008, 0},
		{"plus_uconst", []byte{opPlusUconst, 0x80, 1}, 0x7080, 0},
		{"shl", []byte{opLit0 + 4, opShl}, 0x70000, 0},
		{"shl by much", []byte{opConst1u, 64, opShl}, 0, 0},
		{"shr", []byte{opConst1s, 0xff, opConst1u, 60, opShr}, 15, 0},
		{"shra", []byte{opConst1s, 0xf0, opLit0 + 2, opShra}, minus(4), 0},
		{"xor", []byte{opLit0 + 5, opLit0 + 3, opXor}, 6, 0},
		{"lt, signed", []byte{opConst1s, 0xff, opLit0, opLt}, 1, 0},
		{"le", []byte{opLit0 + 1, opLit0, opLe}, 0, 0},
		{"gt", []byte{opLit0 + 1, opLit0, opGt}, 1, 0},
		{"ge", []byte{opLit0, opLit0, opGe}, 1, 0},
		{"eq", []byte{opLit0, opLit0, opEq}, 1, 0},
		{"ne", []byte{opLit0, opLit0, opNe}, 0, 0},
		{"skip", []byte{opSkip, 1, 0, opLit0}, 0x7000, 0},
		{"bra taken", []byte{opLit0 + 1, opBra, 1, 0, opLit0}, 0x7000, 0},
		{"bra not taken", []byte{opLit0, opBra, 1, 0, opLit0 + 9}, 9, 0},
		{"jump out", []byte{opSkip, 0, 0x7f}, 0, BadRule},
		{"jump before", []byte{opSkip, 0, 0x80}, 0, BadRule},
		{"nop", []byte{opNop}, 0x7000, 0},
		{"endless", []byte{opSkip, 0xfd, 0xff}, 0, BadRule},
		{"overflow", []byte{opDup, opSkip, 0xfc, 0xff}, 0, BadRule},
		{"underflow", []byte{opDrop, opDrop}, 0, BadRule},
		{"empty at the end", []byte{opDrop}, 0, BadRule},
		{"unknown register", []byte{opBreg0 + 15, 0}, 0, NoRegister},
		{"no such register", []byte{opBregx, columns, 0}, 0, BadRule},
		{"frame base", []byte{0x91, 0}, 0, BadRule},
		{"cut short", []byte{opConst8u, 1}, 0, BadRule},
		// The CFA of a PLT entry, as GNU ld writes it: rsp+8, or rsp+16 once the
		// index has been pushed.
		{"plt", []byte{opBreg0 + 7, 8, opBreg0 + 16, 0, opLit0 + 15, opAnd, opLit0 + 11, opGe, opLit0 + 3, opShl, opPlus}, 0x708, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var e evaluator
			got, end := e.eval(test.expr, testMachine{}, 0x10000, &cfa)
			if got != test.want || end != test.end {
				t.Errorf("got %#x, %v, want %#x, %v", got, end, test.want, test.end)
			}
		})
	}
}
