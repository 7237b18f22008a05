package perfevent

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tasks reads at once what the kernel knows of all threads of a process. The kernel runs a BPF program for each
// thread, which writes a record (bpf_iter of tasks, Linux 5.8; helper for registers 5.15). A thread takes half
// a microsecond. Each file of /proc would take five to be opened, and two to be read.
//
// It needs CAP_BPF and CAP_PERFMON, and the kernel's types in /sys/kernel/btf. Our PID namespace must be the first
// one: the numbers of threads are those of that one. One goroutine at a time may use it.
type Tasks struct {
	program, link int
	buf           []byte
	records       []TaskRecord
}

// The words of a record, as the program writes them.
const (
	taskTID = iota
	taskState
	taskOnCPU
	taskRun
	taskWait
	taskSlices
	taskPointer
	taskStart
	taskName                 // of two words
	taskRegs  = taskName + 2 // of numRegs
	taskWords = taskRegs + numRegs
	taskSize  = 8 * taskWords
)

// taskMembers are the members of struct task_struct that the words are read from.
var taskMembers = [...]string{
	taskTID: "pid", taskState: "__state", taskOnCPU: "on_cpu", taskRun: "se.sum_exec_runtime",
	taskWait: "sched_info.run_delay", taskSlices: "sched_info.pcount", taskPointer: threadPointer,
	taskStart: "start_boottime",
}

// taskTypes returns the kernel's types, for programs that identify threads by their numbers in the first PID namespace.
// It fails if that namespace is not ours.
func taskTypes() (*btf, error) {
	ours, err := namespaceOf("self")
	if err == nil && ours.ino != firstPIDNamespace {
		err = errOtherNamespace
	}
	if err != nil {
		return nil, err
	}
	return readBTF()
}

// OpenTasks returns the Tasks of a process. After an error the threads have to be read in /proc.
func OpenTasks(pid int) (*Tasks, error) {
	types, err := taskTypes()
	if err != nil {
		return nil, err
	}
	code, err := taskProgram(types, pid)
	if err != nil {
		return nil, err
	}
	t := &Tasks{program: -1, link: -1}
	if err := t.open(code, types.find(btfFunc, "bpf_iter_task"), pid); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

func (t *Tasks) open(code []instruction, function uint32, pid int) (err error) {
	if t.program, err = loadProgram(code, unix.BPF_PROG_TYPE_TRACING, unix.BPF_TRACE_ITER, function); err != nil {
		return os.NewSyscallError("bpf(BPF_PROG_LOAD)", err)
	}
	// Before Linux 6.1 a link cannot be restricted to a process, and the kernel runs the program for all threads.
	if t.link, err = linkTasks(t.program, 0, pid); err == unix.EINVAL {
		t.link, err = linkTasks(t.program, 0, 0)
	}
	return os.NewSyscallError("bpf(BPF_LINK_CREATE)", err)
}

// linkTasks links the program to one thread, to the threads of a process, or to all threads.
func linkTasks(program, tid, pid int) (int, error) {
	which := &struct{ tid, pid, pidfd, _ uint32 }{tid: uint32(tid), pid: uint32(pid)}
	attr := struct {
		program, target, attach, flags uint32
		info                           uint64
		size, _                        uint32
	}{program: uint32(program), attach: unix.BPF_TRACE_ITER}
	if tid != 0 || pid != 0 {
		attr.info, attr.size = pointer(unsafe.Pointer(which)), uint32(unsafe.Sizeof(*which))
	}
	fd, err := bpf(unix.BPF_LINK_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	runtime.KeepAlive(which)
	return fd, err
}

// taskProgram makes the program, which writes the record of each thread of the process.
func taskProgram(types *btf, pid int) ([]instruction, error) {
	var off struct{ task, meta, seq, tgid, name, word field }
	if err := fields(types, map[*field][2]string{
		&off.task: {"bpf_iter__task", "task"}, &off.meta: {"bpf_iter__task", "meta"},
		&off.seq: {"bpf_iter_meta", "seq"}, &off.tgid: {"task_struct", "tgid"}, &off.name: {"task_struct", "comm"},
	}); err != nil {
		return nil, err
	}
	at := func(word int) int32 { return int32(word-taskWords) * 8 } // below the frame pointer, register 10
	p := []instruction{
		{op: bpfMovReg, dst: 8, src: 1},
		{op: bpfLoadDW, dst: 6, src: 1, off: int16(off.task.off)},
		{op: bpfJumpEq, dst: 6, off: toOut}, // none: the end
		{op: bpfLoadW, dst: 1, src: 6, off: int16(off.tgid.off)},
		{op: bpfJumpNe, dst: 1, imm: int32(pid), off: toOut},
		{op: bpfLoadDW, dst: 7, src: 8, off: int16(off.meta.off)},
		{op: bpfLoadDW, dst: 7, src: 7, off: int16(off.seq.off)},
	}
	for word, path := range taskMembers {
		m, err := types.member("task_struct", path)
		if err != nil {
			return nil, err
		}
		op := uint8(bpfLoadDW)
		switch m.size {
		case 1: // on_cpu since Linux 7.2
			op = bpfLoadB
		case 4:
			op = bpfLoadW
		case 8:
		default:
			return nil, fmt.Errorf("%w: %s has %d bytes", errBTF, path, m.size)
		}
		p = append(p,
			instruction{op: op, dst: 1, src: 6, off: int16(m.off)},
			instruction{op: bpfStoreDW, dst: 10, src: 1, off: int16(at(word))})
	}
	return finish(append(p, []instruction{
		{op: bpfMovReg, dst: 3, src: 6},
		{op: bpfAddImm, dst: 3, imm: int32(off.name.off)},
		{op: bpfMovReg, dst: 1, src: 10},
		{op: bpfAddImm, dst: 1, imm: at(taskName)},
		{op: bpfMovImm, dst: 2, imm: 16},
		{op: bpfCall, imm: helperReadKernel},
		{op: bpfMovReg, dst: 1, src: 6},
		{op: bpfCall, imm: helperTaskRegs},
		{op: bpfMovReg, dst: 3, src: 0},
		{op: bpfMovReg, dst: 1, src: 10},
		{op: bpfAddImm, dst: 1, imm: at(taskRegs)},
		{op: bpfMovImm, dst: 2, imm: 8 * (taskWords - taskRegs)},
		{op: bpfCall, imm: helperReadKernel},
		{op: bpfMovReg, dst: 1, src: 7},
		{op: bpfMovReg, dst: 2, src: 10},
		{op: bpfAddImm, dst: 2, imm: at(0)},
		{op: bpfMovImm, dst: 3, imm: taskSize},
		{op: bpfCall, imm: helperSeqWrite},
	}...)), nil
}

// Read returns a record of each thread that the process has, in no particular order. The slice is valid until the
// next Read.
func (t *Tasks) Read() ([]TaskRecord, error) { return t.read(t.link) }

// One returns the record of one thread (Linux 6.1), nil if the process has no thread of that number. It is valid until
// the next Read or One.
func (t *Tasks) One(tid int) (*TaskRecord, error) {
	link, err := linkTasks(t.program, tid, 0)
	if err != nil {
		return nil, os.NewSyscallError("bpf(BPF_LINK_CREATE)", err)
	}
	defer unix.Close(link)
	records, err := t.read(link)
	if err != nil || len(records) == 0 {
		return nil, err
	}
	return &records[0], nil
}

func (t *Tasks) read(link int) ([]TaskRecord, error) {
	attr := struct{ link, flags uint32 }{uint32(link), 0}
	fd, err := bpf(unix.BPF_ITER_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	if err != nil {
		return nil, os.NewSyscallError("bpf(BPF_ITER_CREATE)", err)
	}
	defer unix.Close(fd)
	if t.buf == nil {
		t.buf = make([]byte, 256*taskSize)
	}
	t.records = t.records[:0]
	for kept := 0; ; {
		n, err := unix.Read(fd, t.buf[kept:])
		switch {
		case err == unix.EINTR || err == unix.EAGAIN: // EAGAIN: the kernel has skipped a million threads of other processes
			continue
		case err != nil:
			return nil, os.NewSyscallError("read of BPF iterator", err)
		case n == 0 && kept == 0:
			return t.records, nil
		case n == 0:
			return nil, io.ErrUnexpectedEOF
		}
		b := t.buf[:kept+n]
		for ; len(b) >= taskSize; b = b[taskSize:] {
			t.records = append(t.records, TaskRecord{})
			t.records[len(t.records)-1].set(b)
		}
		kept = copy(t.buf, b)
	}
}

// Bits of task_struct.__state.
const (
	stateInterruptible   = 0x1
	stateUninterruptible = 0x2
	stateStopped         = 0x4
	stateTraced          = 0x8
)

func (r *TaskRecord) set(b []byte) {
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(b[8*i:]) }
	r.TID, r.Run, r.Wait, r.Slices = int(word(taskTID)), word(taskRun), word(taskWait), word(taskSlices)
	r.Start = word(taskStart)
	copy(r.name[:], b[8*taskName:])
	state := word(taskState)
	r.OnCPU = word(taskOnCPU) != 0
	switch {
	case state == 0 || word(taskOnCPU) != 0:
		r.State = 'R'
	case state&stateTraced != 0:
		r.State = 't'
	case state&stateStopped != 0:
		r.State = 'T'
	case state&stateUninterruptible != 0:
		r.State = 'D'
	case state&stateInterruptible != 0:
		r.State = 'S'
	default:
		r.State = 'R' // on its way out: nothing can be said of where it is
	}
	var saved [numRegs]uint64
	for i := range saved {
		saved[i] = word(taskRegs + i)
	}
	r.Regs.SetSaved(&saved)
	r.Regs.SetThreadPointer(word(taskPointer))
}

// Close closes the link and the program.
func (t *Tasks) Close() error {
	closeAll(t.link, t.program)
	t.link, t.program = -1, -1
	return nil
}
