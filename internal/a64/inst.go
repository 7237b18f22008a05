package a64

// Size is the length of every instruction.
const Size = 4

// field returns bits low to low+n-1 of an instruction.
func field(in uint32, low, n uint) uint32 { return in >> low & (1<<n - 1) }

// signed is field, of a signed number.
func signed(in uint32, low, n uint) int64 { return int64(int32(in<<(32-low-n))) >> (32 - n) }

// IsSyscall reports whether an instruction is svc #0, by which Linux's system calls are made.
func IsSyscall(in uint32) bool { return in == 0xd4000001 }

// MoveImm decodes mov #v, of up to 16 bits, to a register.
func MoveImm(in uint32) (reg uint8, v uint64, ok bool) {
	// movz, of 32 or 64 bits, without a shift
	return uint8(field(in, 0, 5)), uint64(field(in, 5, 16)), in&^(1<<31) >= 0x52800000 && in&^(1<<31) < 0x52a00000
}

// IsCall reports whether an instruction calls a function, and returns its target relative to the instruction if that is part
// of it. An indirect call may authenticate its target.
func IsCall(in uint32) (off int64, direct, ok bool) {
	switch {
	case in>>26 == 0x25: // bl
		return signed(in, 0, 26) * Size, true, true
	case in&0xfffffc1f == 0xd63f0000, // blr
		in&0xfefff800 == 0xd63f0800: // blraa, blrab, blraaz, blrabz
		return 0, false, true
	}
	return 0, false, false
}

// Strip returns a code address without its pointer authentication code. The code is in the bits above those of addresses, up to bit
// 54. The kernel maps everything below 48 bits unless a program asks mmap(2) for more, and code above is not expected.
func Strip(addr uint64) uint64 { return addr & (1<<48 - 1) }

// SetsFP reports whether an instruction makes a frame: mov x29, sp, or add x29, sp, #n.
func SetsFP(in uint32) bool { return in&0xff8003ff == 0x910003fd }
