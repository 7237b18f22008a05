package procfs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
)

// ReadComm reads /proc/PID/task/TID/comm, the thread's name.
func ReadComm(pid, tid int) (string, error) {
	p := taskPath(pid, tid, "comm")
	var buf [128]byte
	b, err := p.read(buf[:0])
	if err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b, []byte{'\n'})), nil
}

// OpenedFile returns what a descriptor of a process refers to: the path of a file, or a word such as pipe:[1234].
// It needs the permission PTRACE_MODE_READ, and the right to search the directory.
func OpenedFile(pid int, fd uint32) (string, error) {
	p := processPath(pid, "fd/"+strconv.FormatUint(uint64(fd), 10))
	return p.readlink()
}

// Link returns what a link in /proc/PID refers to, such as cwd or ns/time.
func Link(pid int, file string) (string, error) {
	p := processPath(pid, file)
	return p.readlink()
}

// Exe returns the target of the link /proc/PID/exe. That is the executed file's
// name in its mount namespace, with " (deleted)" appended if it is unlinked. It
// needs the permission PTRACE_MODE_READ. A kernel thread has no such link (ESRCH).
func Exe(pid int) (string, error) {
	p := processPath(pid, "exe")
	name, err := p.readlink()
	if errors.Is(err, syscall.ESRCH) {
		viaThread(pid, func(tid int) bool {
			t := taskPath(pid, tid, "exe")
			other, terr := t.readlink()
			if terr == nil {
				name, err = other, nil
			}
			return terr == nil
		})
	}
	return name, err
}

// Reasons why /proc does not show the processes that our system calls refer to
// (CheckOwn).
var (
	ErrNotMounted = errors.New("no /proc is mounted")
	ErrForeign    = errors.New("/proc is that of another PID namespace")
)

// YamaScope returns kernel.yama.ptrace_scope (0 classic, 1 descendants only,
// 2 with CAP_SYS_PTRACE only, 3 not at all), and whether Yama is there at all.
func YamaScope() (int, bool) {
	var p path
	p.finish([]byte("/proc/sys/kernel/yama/ptrace_scope"))
	b, err := p.read(nil)
	if err != nil {
		return 0, false
	}
	v, ok := parseInt(bytes.TrimSpace(b))
	return int(v), ok
}

// CapSysPtrace is the number of the capability CAP_SYS_PTRACE, whose absence explains
// a refusal: a bit of Status.CapEff (capabilities(7)).
const CapSysPtrace = 19

// CommandLine reads at most so many bytes of /proc/PID/cmdline: arguments that end in a zero byte each, or what the process has
// put in their place. A process of the kernel has none.
func CommandLine(pid, most int) ([]byte, error) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, int64(most)))
}
