package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel plants no probe of a link in a child of the link's process. So the links of a family are for all processes, and their
// programs end in those that are not of it. A follower puts children into the table of the family before their first instruction.
//
// A process of the family may execute another program. It stays if places of files are all that is asked for, and then calls of the same files are
// counted, as of the C library. If addresses have to be explained it leaves: they are known of the first program alone.

// A family is the process whose calls are counted, the children that it has from then on, and theirs. The methods of nil, which write programs, add nothing
// to them.
type family struct {
	filter
	execs int // when a process, by its number and when it was made, has executed its present program; -1: who does so leaves
	ended int // processes since open calls of such were last forgotten
}

// What a family takes.
var (
	errNoFamily    = fmt.Errorf("children are followed by uprobe_multi links, of Linux 6.6: %w", errors.ErrUnsupported)
	errNoNamespace = fmt.Errorf("children are followed from the first PID namespace, and this program is in another one: %w", errors.ErrUnsupported)
)

// forgetAfter is how many processes may have ended before their open calls are forgotten. They take room in the table.
const forgetAfter = 1 << 10

func openFamily(pid int, of Scope) (*family, error) {
	if how, err := mechanismOf(); err != nil {
		return nil, err
	} else if how != probeLinks {
		return nil, errNoFamily
	}
	f := &family{filter: filter{program: -1, table: -1}, execs: -1}
	if err := f.open(pid, of); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *family) close() {
	f.filter.close()
	closeAll(f.execs)
	f.execs = -1
}

func (f *family) open(pid int, of Scope) (err error) {
	if f.ours, err = namespaceOf("self"); err != nil {
		return err
	}
	if f.ours.ino != firstPIDNamespace {
		return errNoNamespace
	}
	if f.table, err = newMap(unix.BPF_MAP_TYPE_HASH, 8, maxWanted, 0); err != nil {
		return os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
	}
	if of == Programs {
		if f.execs, err = newTable(kinSize, 8, maxWanted, 0); err != nil {
			return os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
		}
	}
	if f.follower, err = newFollower(f.table, f.ours); err != nil {
		return err
	}
	return f.want(pid)
}

// kinSize is the size of the key of execs: the number of a process, and when it was made.
const kinSize = 16

// Offsets of the variables of execProgram.
const (
	execKin  = -32
	execTime = -40
)

// execProgram makes the program for sched_process_exec. It counts the process. If that stays it notes the time, else, or if there is no room, it takes
// it out of the family.
func (f *family) execProgram(words int) []instruction {
	p := keyNumber(ofProcess, f.ours)
	leave := onTable(helperMapDelete, f.table)
	if f.execs < 0 {
		p = append(append(p, leave...), instruction{op: bpfJumpNe, dst: 0, off: toOut})
		return finish(append(p, count(words, wordExec)...))
	}
	p = append(append(p, find(f.table)...), []instruction{
		{op: bpfJumpEq, dst: 0, off: toOut},
		{op: bpfLoadDW, dst: 1, src: 0},
		{op: bpfStoreDW, dst: 10, src: 1, off: execKin + 8},
		{op: bpfLoadW, dst: 1, src: 10, off: varKey},
		{op: bpfStoreDW, dst: 10, src: 1, off: execKin},
		{op: bpfCall, imm: helperTime},
		{op: bpfStoreDW, dst: 10, src: 0, off: execTime},
	}...)
	p = append(p, count(words, wordExec)...)
	p = append(append(p, onKin(helperMapUpdate, f.execs, execKin, []instruction{
		{op: bpfMovReg, dst: 3, src: 10},
		{op: bpfAddImm, dst: 3, imm: execTime},
		{op: bpfMovImm, dst: 4},
	}...)...), instruction{op: bpfJumpEq, dst: 0, off: toOut})
	return finish(append(append(p, leave...), count(f.follower.fds[0], wordNoRoom)...))
}

// onKin calls a helper with a table whose key is at an offset from the frame pointer, after instructions for further arguments.
func onKin(helper int32, table int, key int32, more ...instruction) []instruction {
	return append(more, []instruction{
		{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(table)}, {},
		{op: bpfMovReg, dst: 2, src: 10},
		{op: bpfAddImm, dst: 2, imm: key},
		{op: bpfCall, imm: helper},
	}...)
}

// ifKin ends the program in a process that is not of the family. Otherwise varKey has the number of the process, and callSince when its program was
// executed, or when it was made.
func (f *family) ifKin(a *assembly) {
	if f == nil {
		return
	}
	a.add(keyNumber(ofProcess, f.ours)...)
	a.add(find(f.table)...)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "out")
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 0},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSince})
	if f.execs < 0 {
		return
	}
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: varKey},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callKin})
	a.add(onKin(helperMapLookup, f.execs, int32(callKin))...)
	a.jump(instruction{op: bpfJumpEq, dst: 0}, "first program")
	a.add(
		instruction{op: bpfLoadDW, dst: 1, src: 0},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callSince})
	a.mark("first program")
}

// keyProcess puts the number of the process into the upper half of the first word of callKey, where processes of a family differ.
func (f *family) keyProcess(a *assembly) {
	if f != nil {
		a.add(
			instruction{op: bpfLoadW, dst: 2, src: 10, off: varKey},
			instruction{op: bpfStoreW, dst: 10, src: 2, off: callKey + 4})
	}
}

// ifBorn goes on at a label if a call that is open has begun before the process was made, in another one with its number, or before it executed its
// present program. Register 1 has when it began.
func (f *family) ifBorn(a *assembly, label string) {
	if f == nil {
		return
	}
	a.add(instruction{op: bpfLoadDW, dst: 2, src: 10, off: callSince})
	a.jump(instruction{op: bpfJumpGEReg, dst: 1, src: 2}, "born")
	a.jump(instruction{op: bpfJump}, label)
	a.mark("born")
}

// thread leaves the number of the thread in register 1, and in a family that of its process above it.
func (r *reports) thread(a *assembly) {
	a.add(keyNumber(ofThread, r.ours)...)
	a.add(instruction{op: bpfLoadW, dst: 1, src: 10, off: varKey})
	if r.family {
		a.add(
			instruction{op: bpfLoadW, dst: 2, src: 10, off: callKey + 4},
			instruction{op: bpfLeftImm, dst: 2, imm: 32},
			instruction{op: bpfOrReg, dst: 1, src: 2})
	}
}

// Over reports whether all processes of a family have ended, or left. It is to be called several times a second, since it also
// forgets calls of processes that have ended.
func (c *Calls) Over() bool {
	f := c.family
	if f == nil {
		return false
	}
	f.follower.each(func(e *End) {
		if e.Last {
			f.ended++
			f.forgetExec(e)
		}
	})
	if f.ended >= forgetAfter {
		f.ended = 0
		c.forget()
	}
	var none uint32
	return f.element(unix.BPF_MAP_GET_NEXT_KEY, f.table, nil, unsafe.Pointer(&none)) == unix.ENOENT
}

// forgetExec forgets that a process which has ended has executed a program.
func (f *family) forgetExec(e *End) {
	if f.execs >= 0 {
		key := [2]uint64{uint64(e.PID), uint64(e.Start)}
		f.element(unix.BPF_MAP_DELETE_ELEM, f.execs, unsafe.Pointer(&key), nil)
	}
}

// Left returns how many processes of a family have executed other programs, and how many children were not followed because
// there were too many.
func (c *Calls) Left() (executed, unfollowed uint64) {
	if c.family == nil {
		return 0, 0
	}
	return atomic.LoadUint64(c.word(wordExec)), uint64(c.family.follower.word(wordNoRoom))
}

// Kin reports whether a process is in the family now.
func (c *Calls) Kin(pid int) bool {
	n, since := uint32(pid), uint64(0)
	return c.family != nil && c.family.element(unix.BPF_MAP_LOOKUP_ELEM, c.family.table, unsafe.Pointer(&n), unsafe.Pointer(&since)) == 0
}

// forget removes the open calls of processes that are not in the family any more.
func (c *Calls) forget() {
	var all [][callIDSize]byte
	key, next := unsafe.Pointer(nil), new([callIDSize]byte)
	for range 2 * openCalls { // the kernel begins again where a key has gone
		if c.family.element(unix.BPF_MAP_GET_NEXT_KEY, c.maps.open, key, unsafe.Pointer(next)) != 0 {
			break
		}
		all = append(all, *next)
		key, next = unsafe.Pointer(next), new([callIDSize]byte)
	}
	gone := map[uint32]bool{}
	for i := range all {
		pid := binary.NativeEndian.Uint32(all[i][4:])
		if _, ok := gone[pid]; !ok {
			gone[pid] = !c.Kin(int(pid))
		}
		if gone[pid] {
			c.family.element(unix.BPF_MAP_DELETE_ELEM, c.maps.open, unsafe.Pointer(&all[i]), nil)
		}
	}
}

// element makes a call about an element of a table.
func (f *family) element(command uintptr, table int, key, value unsafe.Pointer) unix.Errno {
	call := &mapCall{fd: uint32(table), key: pointer(key), value: pointer(value)}
	_, _, e := unix.RawSyscall(unix.SYS_BPF, command, uintptr(unsafe.Pointer(call)), unsafe.Sizeof(*call))
	return e
}
