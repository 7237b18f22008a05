package procfs

import "bytes"

// FlagKthread marks a kernel thread in Stat.Flags (PF_KTHREAD of the kernel's
// include/linux/sched.h).
const FlagKthread = 0x00200000

// FlagExiting marks a thread that is ending (PF_EXITING).
const FlagExiting = 0x4

// flagsKilled mark a thread that a signal has killed, with its whole process: PF_DUMPCORE, PF_SIGNALED.
const flagsKilled = 0x200 | 0x400

// Killed reports whether a signal has killed the thread, and with it the whole process. A core dump may make its end long.
func (s *Stat) Killed() bool { return s.Flags&flagsKilled != 0 }

// Ending reports whether the thread is on its way to its end, which may be long: it writes a core dump, waits for another thread
// that does, or gives back much memory. It executes no instruction of its program any more.
func (s *Stat) Ending() bool { return s.Flags&(flagsKilled|FlagExiting) != 0 }

// Policies of sched(7).
const (
	schedFIFO     = 1
	schedRR       = 2
	schedDeadline = 6
)

// A Stat is /proc/PID/stat or /proc/PID/task/TID/stat (proc_pid_stat(5)).
// UTime and STime are those of the whole process in the former file, and of the
// one thread in the latter. They are in ticks of 10 ms (USER_HZ is 100 for
// programs on every architecture here).
type Stat struct {
	PID                int
	Comm               string // unescaped
	State              byte   // R, S, D, T (stopped), t (traced), Z, X, I
	PPID               int
	Flags              uint32
	UTime, STime       uint64 // ticks
	Threads            int    // of the process, a leader that has ended included
	StartTime          uint64 // ticks since boot
	Size               uint64 // of the address space, in bytes; 0 without one
	StartCode          uint64 // 0 or 1 without permission PTRACE_MODE_READ
	StartStack         uint64 // address of argc; 0 without that permission
	Processor          int
	RealTime           bool   // policy SCHED_FIFO, SCHED_RR or SCHED_DEADLINE: no other thread takes the processor from it
	ArgStart, EnvStart uint64 // 0 without that permission
	ExitCode           uint32 // wait status of a zombie; 0 without that permission
}

// Kthread reports whether the task is a kernel thread.
func (s *Stat) Kthread() bool { return s.Flags&FlagKthread != 0 }

// Ended reports whether the whole process has ended. If only its first thread has ended, the process lives as long as
// its other threads, although its state is Z.
func (s *Stat) Ended() bool { return allEnded(s.State, s.Threads) }

func allEnded(state byte, threads int) bool { return (state == 'Z' || state == 'X') && threads <= 1 }

// ParseStat parses the text of a stat file. The name is in parentheses, and may
// itself hold any byte, parentheses and blanks included. So it ends at the last
// closing parenthesis.
func ParseStat(b []byte) (Stat, error) { return parseStat(b, "") }

// parseStat is ParseStat. If the name equals known it takes known, and allocates
// nothing.
func parseStat(b []byte, known string) (Stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return Stat{}, malformed("stat", b)
	}
	var st Stat
	head := scanner{text: b[:open]}
	st.PID = int(head.int())
	if comm := b[open+1 : end]; string(comm) == known {
		st.Comm = known
	} else {
		st.Comm = unescapeComm(comm)
	}
	s := scanner{text: b[end+1:]}
	if f := s.field(); len(f) == 1 {
		st.State = f[0]
	} else {
		s.bad = true
	}
	st.PPID = int(s.int())
	s.skip(4) // pgrp session tty_nr tpgid
	st.Flags = uint32(s.uint(10))
	s.skip(4) // minflt cminflt majflt cmajflt
	st.UTime, st.STime = s.uint(10), s.uint(10)
	s.skip(4) // cutime cstime priority nice
	st.Threads = int(s.int())
	s.skip(1) // itrealvalue
	st.StartTime = s.uint(10)
	st.Size = s.uint(10)
	s.skip(2) // rss rsslim
	st.StartCode = s.uint(10)
	s.skip(1) // endcode
	st.StartStack = s.uint(10)
	if head.bad || s.bad {
		return Stat{}, malformed("stat", b)
	}
	s.skip(10) // kstkesp kstkeip signal blocked sigignore sigcatch wchan nswap cnswap exit_signal
	st.Processor = int(s.int())
	s.skip(1) // rt_priority
	switch s.uint(10) {
	case schedFIFO, schedRR, schedDeadline:
		st.RealTime = true
	}
	s.skip(6) // blkio guest cguest start_data end_data start_brk
	st.ArgStart = s.uint(10)
	s.skip(1) // arg_end
	st.EnvStart = s.uint(10)
	s.skip(1) // env_end
	st.ExitCode = uint32(s.uint(10))
	return st, nil
}

// unescapeComm undoes the escapes of proc_task_name: in stat and status a
// newline is written \n and a backslash \\; the comm file escapes nothing.
func unescapeComm(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c == '\\' && i+1 < len(b) {
			switch b[i+1] {
			case 'n':
				c = '\n'
				i++
			case '\\':
				i++
			}
		}
		out = append(out, c)
	}
	return string(out)
}

// ReadStat reads /proc/PID/stat.
func ReadStat(pid int) (Stat, error) {
	return parsed(processPath(pid, "stat"), ParseStat)
}

// ReadTaskStat reads /proc/PID/task/TID/stat.
func ReadTaskStat(pid, tid int) (Stat, error) {
	return parsed(taskPath(pid, tid, "stat"), ParseStat)
}
