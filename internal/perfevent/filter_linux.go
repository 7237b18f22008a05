package perfevent

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A filter passes samples of wanted processes and drops all others. It consists of a BPF program
// that a perf event runs in its interrupt, and of a table of wanted processes by their numbers. If our
// PID namespace is the first one, these are the kernel's own numbers, which processes of all namespaces
// have. Otherwise they are those of our namespace, which the program finds for its own processes only.
type filter struct {
	program, table int
	ours           pidNamespace
	follower       *follower // nil: children are not followed in the kernel
	pager          *pager    // nil: the kernel does not copy pages
}

// A pidNamespace identifies a PID namespace by the device and inode of its file.
type pidNamespace struct{ dev, ino uint64 }

// maxWanted bounds how many processes can be wanted at the same time.
const maxWanted = 1 << 15

// newFilter makes a filter for the processors with numbers below cpus.
func newFilter(cpus int) (*filter, error) {
	f := &filter{program: -1, table: -1}
	if err := f.make(cpus); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *filter) make(cpus int) (err error) {
	if f.ours, err = namespaceOf("self"); err != nil {
		return err
	}
	// Before Linux 6.1 programs in interrupts need a table whose memory is allocated in advance.
	if f.table, err = newMap(unix.BPF_MAP_TYPE_HASH, 8, maxWanted, 0); err != nil {
		return err
	}
	if f.pager, err = newPager(cpus); err == nil {
		if f.program, err = f.load(); err == nil {
			return nil
		}
		f.pager.close()
		f.pager = nil
	}
	f.program, err = f.load()
	return err
}

func (f *filter) load() (program int, err error) {
	return loadProgram(filterProgram(f.table, f.ours, f.pager), unix.BPF_PROG_TYPE_PERF_EVENT, 0, 0)
}

// namespaceOf returns the PID namespace of a process.
func namespaceOf(pid string) (pidNamespace, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/"+pid+"/ns/pid", &st); err != nil {
		return pidNamespace{}, os.NewSyscallError("stat of PID namespace", err)
	}
	return pidNamespace{st.Dev, st.Ino}, nil
}

// filterProgram is a program that returns 1 for a thread of a process in the table, and 0 for others. For the first kind pages
// are copied, if there is a pager.
func filterProgram(table int, ours pidNamespace, pager *pager) []instruction {
	p := append([]instruction{{op: bpfMovReg, dst: 6, src: 1}}, keyNumber(ofProcess, ours)...)
	p = append(append(p, find(table)...), instruction{op: bpfJumpEq, dst: 0, off: toOut})
	if pager != nil {
		p = append(p, pager.program(ours)...)
	}
	return finish(append(p, instruction{op: bpfMovImm, dst: 0, imm: 1}, instruction{op: bpfExit}))
}

// want puts a process into the table. ESRCH: it has ended.
func (f *filter) want(pid int) error {
	theirs, err := namespaceOf(fmt.Sprint(pid))
	if errors.Is(err, unix.ENOENT) {
		err = unix.ESRCH
	}
	if err != nil {
		return err
	}
	if f.ours.ino != firstPIDNamespace && theirs != f.ours {
		return errOtherNamespace
	}
	return f.table4(unix.BPF_MAP_UPDATE_ELEM, pid)
}

// drop removes a process from the table.
func (f *filter) drop(pid int) {
	f.table4(unix.BPF_MAP_DELETE_ELEM, pid) // ENOENT: it was not wanted
}

// table4 makes a call about the entry of a process. The value of an entry is the time when the process was made, 0 if
// that is not known.
func (f *filter) table4(command uintptr, pid int) error {
	words := &struct {
		start uint64
		pid   uint32
	}{pid: uint32(pid)}
	call := &mapCall{fd: uint32(f.table), key: pointer(unsafe.Pointer(&words.pid))}
	if command == unix.BPF_MAP_UPDATE_ELEM {
		call.value = pointer(unsafe.Pointer(&words.start))
	}
	_, _, e := unix.RawSyscall(unix.SYS_BPF, command, uintptr(unsafe.Pointer(call)), unsafe.Sizeof(*call))
	runtime.KeepAlive(words)
	if e != 0 {
		return os.NewSyscallError("bpf", e)
	}
	return nil
}

// closeAll closes the descriptors that are not negative.
func closeAll(fds ...int) {
	for _, fd := range fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

func (f *filter) close() {
	if f.follower != nil {
		f.follower.close()
	}
	if f.pager != nil {
		f.pager.close()
	}
	closeAll(f.program, f.table)
}
