package perfevent

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slowRecord is what the program writes of a call of which only the time is reported.
type slowRecord struct {
	function, thread, length, end, cpu uint64 // thread: see reports.thread
}

// reports is which calls are reported one by one, and the ring that they are written to.
type reports struct {
	CallReports
	fd     int
	ring   ringBuffer
	ours   pidNamespace
	family bool // there may be several processes
}

// The sizes of the ring for calls with their values, and with their stacks: the latter has room for 3,700 calls. These are as many as
// there are in 300 ms, if they take 80 us each in all; so long a busy machine may keep us from reading.
const (
	detailedRing = 16 << 20
	stackRing    = 64 << 20
)

// open makes the ring. Keys may be numbers of threads, too.
func (r *reports) open(pid int, keys bool) (err error) {
	if keys || r.any() {
		r.ours, err = ourNamespace(pid)
	}
	if err != nil || !r.any() {
		return err
	}
	size := ringBufferSize
	if r.detailed() {
		size = detailedRing
	}
	if r.Stack {
		if r.fd, err = r.ring.open(stackRing); !errors.Is(err, unix.ENOMEM) {
			return err
		}
	}
	r.fd, err = r.ring.open(size)
	return err
}

// ifFast jumps to a label if the duration in register 9 is less than that of slow calls.
func (a *assembly) ifFast(r *reports, label string) {
	if r.Each {
		return
	}
	a.add(instruction{op: bpfLoad64, dst: 1, imm: int32(r.Least)}, instruction{imm: int32(r.Least >> 32)})
	a.jump(instruction{op: bpfJumpGEReg, dst: 9, src: 1}, "slow")
	a.jump(instruction{op: bpfJump}, label)
	a.mark("slow")
}

// reportTime writes the call of which register 9 has the duration.
func (a *assembly) reportTime(r *reports) {
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: callKey},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSlow},
		instruction{op: bpfStoreDW, dst: 10, src: 9, off: callSlow + 16},
		instruction{op: bpfLoadDW, dst: 1, src: 10, off: callCPU},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSlow + 32},
		instruction{op: bpfCall, imm: helperTime},
		instruction{op: bpfStoreDW, dst: 10, src: 0, off: callSlow + 24})
	r.thread(a)
	a.add(
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSlow + 8},
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(r.fd)}, instruction{},
		instruction{op: bpfMovReg, dst: 2, src: 10},
		instruction{op: bpfAddImm, dst: 2, imm: int32(callSlow)},
		instruction{op: bpfMovImm, dst: 3, imm: int32(unsafe.Sizeof(slowRecord{}))},
		instruction{op: bpfMovImm, dst: 4, imm: ringNoWakeup},
		instruction{op: bpfCall, imm: helperRingOutput})
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "out")
	a.tally(wordUnreported)
}

func durationOf(ns uint64) time.Duration { return time.Duration(ns) }

// Reports calls tell with the reports that were written since it was called last, the oldest first and at most so many. What is not
// read stays in the ring, and calls that find no room there are counted as unseen.
func (c *Calls) Reports(most int, tell func(*CallReport)) {
	if !c.reports.any() {
		return
	}
	read := c.reports.ring.readSome
	if c.trapped != nil {
		read = c.trapped.machine.queue.readSome
	}
	read(most, func(b []byte) {
		if r, ok := c.reports.report(b); ok {
			tell(&r)
		}
	})
}
