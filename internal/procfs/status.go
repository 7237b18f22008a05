package procfs

import "bytes"

// A Status is /proc/PID/status or /proc/PID/task/TID/status
// (proc_pid_status(5)). Signal sets have bit n-1 for signal n.
type Status struct {
	State          byte // as in Stat
	Tgid, PID      int
	TracerPID      int    // 0 where the task is not traced
	UID, GID       [4]int // real, effective, saved, file system
	SigPnd         uint64 // pending for the thread
	SigBlk         uint64
	SigIgn, SigCgt uint64
	CapEff         uint64 // effective capabilities, bit n for capability n
	CapPrm, CapBnd uint64 // permitted, bounding set
	NoNewPrivs     bool
	NSpid          []int // the PID in each pid namespace from the reader's to the task's own
	Threads        int
	CoreDumping    bool // the kernel writes a core dump of the process (Linux 4.15)
}

// InnerPID is the process's number in its own pid namespace.
func (s *Status) InnerPID() int {
	if n := len(s.NSpid); n > 0 {
		return s.NSpid[n-1]
	}
	return s.Tgid
}

// Ended is as in Stat.
func (s *Status) Ended() bool { return allEnded(s.State, s.Threads) }

// ParseStatus parses the text of a status file. Lines it does not know are
// skipped: every kernel adds some.
func ParseStatus(b []byte) (Status, error) {
	var st Status
	all := b
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte{'\n'})
		b = rest
		key, value, found := bytes.Cut(line, []byte{':'})
		if !found {
			return Status{}, malformed("status line", line)
		}
		s := scanner{text: value}
		st.set(string(key), &s)
		if s.bad {
			return Status{}, malformed("status line", line)
		}
	}
	if st.PID == 0 || st.State == 0 {
		return Status{}, malformed("status", all)
	}
	return st, nil
}

func (st *Status) set(key string, s *scanner) {
	switch key {
	case "State":
		if f := s.field(); len(f) == 1 {
			st.State = f[0]
		}
	case "Tgid":
		st.Tgid = int(s.int())
	case "Pid":
		st.PID = int(s.int())
	case "TracerPid":
		st.TracerPID = int(s.int())
	case "Uid":
		for i := range st.UID {
			st.UID[i] = int(s.int())
		}
	case "Gid":
		for i := range st.GID {
			st.GID[i] = int(s.int())
		}
	case "NSpid":
		for st.NSpid = nil; len(bytes.TrimSpace(s.rest())) > 0 && !s.bad; {
			st.NSpid = append(st.NSpid, int(s.int()))
		}
	case "CoreDumping":
		st.CoreDumping = s.int() != 0
	case "Threads":
		st.Threads = int(s.int())
	case "SigPnd":
		st.SigPnd = s.uint(16)
	case "SigBlk":
		st.SigBlk = s.uint(16)
	case "SigIgn":
		st.SigIgn = s.uint(16)
	case "SigCgt":
		st.SigCgt = s.uint(16)
	case "CapEff":
		st.CapEff = s.uint(16)
	case "CapPrm":
		st.CapPrm = s.uint(16)
	case "CapBnd":
		st.CapBnd = s.uint(16)
	case "NoNewPrivs":
		st.NoNewPrivs = s.int() != 0
	}
}

// ReadStatus reads /proc/PID/status.
func ReadStatus(pid int) (Status, error) {
	return parsed(processPath(pid, "status"), ParseStatus)
}

// ReadTaskStatus reads /proc/PID/task/TID/status.
func ReadTaskStatus(pid, tid int) (Status, error) {
	return parsed(taskPath(pid, tid, "status"), ParseStatus)
}
