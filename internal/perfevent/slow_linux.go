package perfevent

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slowRecord is what the program writes of a slow call.
type slowRecord struct {
	function, thread, length, end uint64
}

// callSlow is the offset from the frame pointer of the record. It is above the variables of keyNumber, which overwrite the key.
const callSlow = callFrom - int16(unsafe.Sizeof(slowRecord{}))

// slow is which calls are reported one by one.
type slow struct {
	least time.Duration // 0: none
	fd    int           // of the ring
	ring  ringBuffer
	ours  pidNamespace
}

// open makes the ring.
func (s *slow) open(pid int) (err error) {
	if s.least <= 0 {
		return nil
	}
	if s.ours, err = ourNamespace(pid); err == nil {
		s.fd, err = s.ring.open()
	}
	return err
}

// report writes the call of which register 9 has the duration, if it is slow. It uses up the key.
func (a *assembly) report(s *slow) {
	if s.least <= 0 {
		return
	}
	a.add(instruction{op: bpfLoad64, dst: 1, imm: int32(s.least)}, instruction{imm: int32(s.least >> 32)})
	a.jump(instruction{op: bpfJumpGEReg, dst: 9, src: 1}, "slow")
	a.jump(instruction{op: bpfJump}, "out")
	a.mark("slow")
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: callKey},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSlow},
		instruction{op: bpfStoreDW, dst: 10, src: 9, off: callSlow + 16},
		instruction{op: bpfCall, imm: helperTime},
		instruction{op: bpfStoreDW, dst: 10, src: 0, off: callSlow + 24})
	a.add(keyNumber(ofThread, s.ours)...)
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: varKey},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSlow + 8},
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(s.fd)}, instruction{},
		instruction{op: bpfMovReg, dst: 2, src: 10},
		instruction{op: bpfAddImm, dst: 2, imm: int32(callSlow)},
		instruction{op: bpfMovImm, dst: 3, imm: int32(unsafe.Sizeof(slowRecord{}))},
		instruction{op: bpfMovImm, dst: 4, imm: ringNoWakeup},
		instruction{op: bpfCall, imm: helperRingOutput})
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "out")
	a.tally(wordUnreported)
}

// ReadSlow calls tell with the slow calls that have ended since it was called last.
func (c *Calls) ReadSlow(tell func(SlowCall)) {
	if c.slow.least <= 0 {
		return
	}
	c.slow.ring.read(func(b []byte) {
		if len(b) < int(unsafe.Sizeof(slowRecord{})) {
			return
		}
		r := (*slowRecord)(unsafe.Pointer(&b[0]))
		tell(SlowCall{Function: int(r.function), TID: int(r.thread), Length: time.Duration(r.length), End: time.Duration(r.end)})
	})
}
