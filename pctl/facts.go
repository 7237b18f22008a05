package pctl

import (
	"debug/elf"
	"errors"
	"os"
	"strconv"
	"syscall"

	"ptools/internal/procfs"
)

// readTarget reads what /proc shows of the process, as far as check asks for it.
func (f *facts) readTarget() {
	st, err := procfs.ReadStatus(f.pid)
	if procfs.Lacking(err) {
		f.proc = err // of the process about which /proc tells nothing
	}
	if err != nil {
		if errors.Is(err, syscall.ESRCH) && syscall.Kill(f.pid, 0) == syscall.EPERM {
			f.proc = errHidden
		}
		return
	}
	f.tgid, f.state, f.threads = st.Tgid, st.State, st.Threads
	f.uid, f.gid, f.caps = st.UID, st.GID, st.CapPrm
	f.traces(st.TracerPID)
	if f.class = procfs.ExeClass(f.pid); f.class != elf.ELFCLASSNONE {
		return // a kernel thread has no executable
	}
	if stat, err := procfs.ReadStat(f.pid); err == nil {
		f.kernel = stat.Kthread()
	}
}

// readReasons reads the facts that explain why the kernel has refused us.
func (f *facts) readReasons() {
	f.owner = fileOwner(f.pid, f.uid[1])
	f.foreign = userMap("/proc/"+strconv.Itoa(f.pid)) != userMap("/proc/self")
	f.readOurselves()
}

// fileOwner returns the user that the files in /proc/PID belong to. The directory itself always belongs to
// the effective user. The files of a process that is not dumpable belong to root (task_dump_owner in
// fs/proc/base.c). So do the files of a thread that has no memory any more: the leader, if it has ended.
func fileOwner(pid, otherwise int) int {
	tids, _ := procfs.Tasks(pid, nil)
	for _, tid := range tids {
		fi, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/status")
		if err != nil {
			continue
		}
		st, err := procfs.ReadTaskStatus(pid, tid)
		if err != nil || st.State == 'Z' || st.State == 'X' {
			continue
		}
		if uid, ok := ownerOf(fi); ok {
			return uid
		}
	}
	return otherwise
}

// traces notes a TracerPid. It may be that of a thread; users know the name of its
// process.
func (f *facts) traces(tracer int) {
	f.tracer = tracer
	if tracer == 0 {
		return
	}
	if by, err := procfs.ReadStatus(tracer); err == nil {
		f.tracer = by.Tgid
		f.tracerName, _ = procfs.ReadComm(by.Tgid, by.Tgid)
	}
}

// readTracers looks at the other threads, too: a tracer attaches to threads,
// and detaches from them, one after the other.
func (f *facts) readTracers() {
	tids, _ := procfs.Tasks(f.pid, nil)
	for _, tid := range tids {
		if st, err := procfs.ReadTaskStatus(f.pid, tid); err == nil && st.TracerPID != 0 {
			f.traces(st.TracerPID)
			return
		}
	}
}

// readOurselves reads the facts about us that decide.
func (f *facts) readOurselves() {
	f.yama, _ = procfs.YamaScope()
	if own, err := procfs.ReadStatus(f.self); err == nil {
		f.ourCaps = own.CapEff
	}
	for pid, depth := f.pid, 0; pid > 1 && depth < 64; depth++ {
		st, err := procfs.ReadStat(pid)
		if err != nil {
			return
		}
		if pid = st.PPID; pid == f.self {
			f.yamaExempted = true
			return
		}
	}
}

// userMap returns the uid map of a process's user namespace as seen from
// ours. It can be read even where the namespace's own link in /proc cannot.
func userMap(dir string) string {
	b, err := os.ReadFile(dir + "/uid_map")
	if err != nil {
		return ""
	}
	return string(b)
}
