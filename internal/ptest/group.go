package ptest

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// nullSignal asks whether a process is there.
const nullSignal = syscall.Signal(0)

// ownGroup makes a process the leader of a new process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process group that pid leads. The leader must not have been reaped, because
// another process could have the number then.
func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// killRest kills what is left of the process group and the session of a leader that was reaped at that moment (bootTicks).
// The kernel gives the number to another process only when no process of the group is left. So the group is
// still that of the leader if a process in it has begun before; otherwise all of it belongs to other programs.
func killRest(leader int, reaped uint64) {
	var rest []*os.Process
	ours := false
	for _, pid := range numbers("/proc") {
		if _, ok := memberOf(leader, pid); !ok {
			continue
		}
		p, err := os.FindProcess(pid) // holds on to it: the number may become another's
		if err != nil {
			continue
		}
		if begun, ok := memberOf(leader, pid); ok {
			ours = ours || begun <= reaped
			rest = append(rest, p)
		}
	}
	for _, p := range rest {
		if ours {
			p.Kill()
		}
		p.Release()
	}
}

// groupIsLeft reports whether a process is in the group with that number.
func groupIsLeft(leader int) bool { return syscall.Kill(-leader, nullSignal) != syscall.ESRCH }

// memberOf reports whether a process is in the group or the session of a leader, and when it began, as bootTicks.
func memberOf(leader, pid int) (begun uint64, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false // it has ended
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	const group, session, start = 2, 3, 19 // proc_pid_stat(5), behind the name
	if len(fields) <= start || fields[group] != strconv.Itoa(leader) && fields[session] != strconv.Itoa(leader) {
		return 0, false
	}
	begun, err = strconv.ParseUint(fields[start], 10, 64)
	return begun, err == nil
}

// bootTicks returns the time since the machine was booted in hundredths of a second, the unit of a process's beginning.
func bootTicks() uint64 {
	b, _ := os.ReadFile("/proc/uptime")
	whole, rest, _ := strings.Cut(string(b), ".")
	ticks, _ := strconv.ParseUint(whole+rest[:min(2, len(rest))], 10, 64)
	return ticks
}
