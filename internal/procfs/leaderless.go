package procfs

import (
	"cmp"
	"errors"
	"slices"
	"syscall"
)

// A leader that has ended before its threads stays as a zombie without
// memory, root or executable, while the process continues. Then /proc/PID/maps
// is empty and the links are broken. The files of every other thread still show
// what the threads share. The leader's own files belong to root, whichever user
// the process belongs to (task_dump_owner in fs/proc/base.c): those with mode
// 0400 may not be opened.

// readShared reads a file that shows something all threads share. It reads the
// leader's file or, where that shows nothing, the file of any other thread.
func readShared(pid int, file string, buf []byte) ([]byte, error) {
	p := processPath(pid, file)
	b, err := p.read(buf)
	if errors.Is(err, syscall.EACCES) {
		if leader := processPath(pid, "statm"); errors.Is(leader.hasMemory(), syscall.ESRCH) {
			err = p.gone()
		}
	}
	if err == nil && len(b) > 0 || err != nil && !errors.Is(err, syscall.ESRCH) {
		return b, err
	}
	viaThread(pid, func(tid int) bool {
		t := taskPath(pid, tid, file)
		more, terr := t.read(buf)
		if terr != nil || len(more) == 0 {
			return false
		}
		b, err = more, nil
		return true
	})
	return b, err
}

// viaThread calls try for the threads of the process, without the leader, until
// try returns true.
func viaThread(pid int, try func(tid int) bool) {
	for _, tid := range Others(pid) {
		if try(tid) {
			return
		}
	}
}

// Others lists the threads of a process without its leader, none if they cannot be listed.
func Others(pid int) []int {
	tids, err := Tasks(pid, nil)
	if err != nil {
		return nil
	}
	return others(pid, tids)
}

func others(pid int, tids []int) []int {
	return slices.DeleteFunc(tids, func(tid int) bool { return tid == pid })
}

// NoMemory reports whether no thread of a process has memory, after first the leader had none and then each of tried, which were
// its Others. During an execve(2) by another thread the leader is a zombie, until that thread takes its number. So the leader may have
// memory again, or Others may have missed a thread. The leader's stat is of one task at one moment. The error is ESRCH if the
// process is gone.
func NoMemory(pid int, tried []int) (bool, error) {
	leader, err := ReadStat(pid)
	if err != nil {
		return false, err
	}
	tids, err := Tasks(pid, nil)
	switch {
	case err != nil: // Others had the same error, or will
		return false, err
	case leader.Threads == 1 && leader.Size == 0:
		return true, nil
	case leader.Threads == 0 || leader.Size != 0 || len(tried)+1 < leader.Threads:
		return false, nil // it was replaced just then, or has memory, or threads that were not tried
	}
	return slices.Equal(tried, others(pid, tids)), nil // all are ending, unless one has taken the leader's number
}

// WithMemory returns the leader of a process or, if that has ended, a thread
// that has not. ESRCH where none has any memory, as in a zombie and in a kernel
// thread.
func WithMemory(pid int) (tid int, err error) {
	for {
		p := processPath(pid, "statm")
		if err = p.hasMemory(); err == nil || !errors.Is(err, syscall.ESRCH) {
			return pid, err
		}
		tried := Others(pid)
		for _, t := range tried {
			p := taskPath(pid, t, "statm")
			if err := p.hasMemory(); err == nil || !errors.Is(err, syscall.ESRCH) {
				return t, err
			}
		}
		if none, lack := NoMemory(pid, tried); lack != nil || none {
			return pid, cmp.Or(lack, err)
		}
	}
}

// hasMemory returns nil if the statm of a thread shows a size.
func (p *path) hasMemory() error {
	var buf [128]byte
	b, err := p.read(buf[:0])
	if err == nil && (len(b) == 0 || b[0] == '0') {
		err = p.gone()
	}
	return err
}
