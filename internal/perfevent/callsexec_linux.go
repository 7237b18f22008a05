package perfevent

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A probe belongs to a file. It is also planted in the program that the process executes later, if that has the same file mapped, as
// the C library. Those calls are not of the program whose calls were asked for.

// watchExec ends the counting of a process when it executes another program, before the first instruction of that.
func (c *Calls) watchExec() error {
	ours, err := ourNamespace(c.pid)
	if err != nil {
		return err
	}
	code := execProgram(c.pid, c.maps.words, ours)
	if c.family != nil {
		code = c.family.execProgram(c.maps.words)
	}
	if c.exec[0], err = loadProgram(code, unix.BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0); err != nil {
		return os.NewSyscallError("bpf(BPF_PROG_LOAD)", err)
	}
	c.exec[1], err = attachRaw("sched_process_exec", c.exec[0])
	return err
}

// attachRaw attaches a program to a tracepoint.
func attachRaw(tracepoint string, program int) (link int, err error) {
	name, err := unix.BytePtrFromString(tracepoint)
	if err != nil {
		return -1, err
	}
	attr := &struct {
		name       uint64
		program, _ uint32
	}{pointer(unsafe.Pointer(name)), uint32(program), 0}
	link, err = bpf(unix.BPF_RAW_TRACEPOINT_OPEN, unsafe.Pointer(attr), unsafe.Sizeof(*attr))
	runtime.KeepAlive(name)
	return link, os.NewSyscallError("bpf(BPF_RAW_TRACEPOINT_OPEN)", err)
}

// execProgram makes the program for the tracepoint.
func execProgram(pid, words int, ours pidNamespace) []instruction {
	return finish(append(keyNumber(ofProcess, ours),
		instruction{op: bpfLoadW, dst: 1, src: 10, off: varKey},
		instruction{op: bpfJumpNe, dst: 1, imm: int32(pid), off: toOut},
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(words)}, instruction{},
		instruction{op: bpfMovImm, dst: 2, imm: 1},
		instruction{op: bpfStoreDW, dst: 1, src: 2, off: 8 * wordExec},
		instruction{op: bpfMovImm, dst: 2},
		instruction{op: bpfStoreDW, dst: 1, src: 2, off: 8 * wordOn}))
}
