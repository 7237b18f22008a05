package pctl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"ptools/internal/clean"
	"ptools/internal/patience"
	"ptools/internal/procfs"
	"ptools/internal/ptrace"
)

// tellSignal is for calls that wait for a signal; spec is the argument that points to a limit, or -1.
func tellSignal(spec int) func(*asked) {
	return func(a *asked) {
		a.Kind = WaitSignal
		a.setTimeout(-1, spec)
	}
}

func tellWait4(a *asked) {
	a.Kind = WaitChild
	switch pid := a.int(0); {
	case pid > 0:
		a.setChild(pid)
	case pid < -1:
		a.Child.Group = -pid
	case pid == 0:
		a.Child.Group = -1
	}
}

// Kinds of waitid(2).
const (
	waitPID   = 1 // P_PID
	waitGroup = 2 // P_PGID
	waitPIDFD = 3 // P_PIDFD
)

func tellWaitID(a *asked) {
	a.Kind = WaitChild
	switch a.args[0] {
	case waitPID:
		a.setChild(a.int(1))
	case waitGroup:
		a.Child.Group = a.int(1)
	case waitPIDFD:
		info, _ := procfs.ReadFD(a.p.PID(), a.int(1)) // without it any child
		a.setChild(max(info.PID, 0))
	}
}

func (a *asked) setChild(pid int) {
	a.Child.PID = pid
	if pid != 0 {
		a.Child.Name, _ = procfs.ReadComm(pid, pid)
	}
}

// sleepMemory is the memory of a nanosleep whose time is at an argument, and what is left of it at the next.
func sleepMemory(arg int) func([6]uint64) []piece {
	return func(args [6]uint64) []piece { return []piece{{args[arg], 16}, {args[arg+1], 16}} }
}

// tellSleep is for nanosleep and clock_nanosleep. A stop that interrupts a relative sleep makes the kernel write what is left
// of it, if the program wants to know (do_nanosleep in kernel/time/hrtimer.c). When the sleep began is not known otherwise.
func tellSleep(arg int) func(*asked) {
	return func(a *asked) {
		const absolute = 1 // TIMER_ABSTIME
		a.Kind = WaitTime
		whole, ok := timespec(a.memory(a.args[arg], 16))
		if arg > 0 && a.args[1]&absolute != 0 {
			if now, known := procfs.ClockOf(a.p.PID(), a.int(0)); ok && known {
				a.Time = TimeLeft{Left: max(whole-now, 0), Known: true}
			}
			return
		}
		left, written := timespec(a.memory(a.args[arg+1], 16))
		_, result, _ := a.t.Registers.kernel().SyscallReturn()
		switch {
		case written && result == -ptrace.RestartBlock && (!ok || left <= whole || a.args[arg+1] == a.args[arg]):
			a.Time = TimeLeft{Timeout: whole, Left: left, Known: true}
		case ok:
			a.Time.Timeout = whole
		}
	}
}

func tellFutexWait(a *asked) {
	a.Kind = WaitFutex
	a.Lock = Lock{Kind: "futex", Addr: a.args[0], Why: "the function that waits is not known"}
	where := a.t.place(a.Lock.Addr)
	a.Lock.Symbol, a.Lock.Offset, a.Lock.Object = where.symbol, where.offset, where.object
}

// A futex_waitv waits for several futexes; the first is shown.
const sizeofWaitV = 24 // struct futex_waitv: a value, an address, flags

func futexesMemory(args [6]uint64) []piece {
	return []piece{{args[0], sizeofWaitV * int(min(args[1], 128))}}
}

func tellFutexes(a *asked) {
	b := a.memory(a.args[0], sizeofWaitV)
	if len(b) < sizeofWaitV {
		return
	}
	n := a.args[1]
	a.args[0] = binary.LittleEndian.Uint64(b[8:])
	tellFutexWait(a)
	if n > 1 {
		a.Lock.Why = fmt.Sprintf("it waits for any of %d futexes", n)
	}
}

const longestPath = 4096 // PATH_MAX

func pathAt(arg int) func([6]uint64) []piece {
	return func(args [6]uint64) []piece { return []piece{{args[arg], longestPath}} }
}

func openat2Memory(args [6]uint64) []piece { return []piece{{args[1], longestPath}, {args[2], 8}} }

// tellOpen is for calls that open a file: the arguments with its directory (-1: none), its name and the flags (-1: to write).
// Those of openat2 are in memory.
func tellOpen(dir, path, flags int) func(*asked) {
	return func(a *asked) {
		name, _, whole := bytes.Cut(a.memory(a.args[path], longestPath), []byte{0})
		if !whole || len(name) == 0 {
			return // it cannot be read
		}
		how := uint64(syscall.O_WRONLY)
		if flags >= 0 {
			how = a.args[flags]
		}
		if b := a.memory(how, 8); len(b) == 8 {
			how = binary.LittleEndian.Uint64(b)
		}
		a.Kind = WaitOpen
		a.File = OpenFile{FD: -1, Path: string(name), Write: how&3 == syscall.O_WRONLY}
		full := string(name)
		if !strings.HasPrefix(full, "/") {
			from := "cwd"
			if dir >= 0 && a.int(dir) >= 0 {
				from = "fd/" + strconv.Itoa(a.int(dir))
			}
			base, err := procfs.Link(a.p.PID(), from)
			if err != nil {
				return
			}
			full = base + "/" + full
		}
		a.File.Fifo, _ = patience.Do(func() (bool, error) { return isFifo(a.p.PID(), full), nil }, func(bool) {})
	}
}

func isFifo(pid int, path string) bool {
	root, err := procfs.OpenRoot(pid)
	if err != nil {
		return false
	}
	defer root.Close()
	return root.IsPipe(path)
}

// opens returns what a thread that opens a file waits for.
func (f OpenFile) opens() string {
	other := "to write"
	if f.Write {
		other = "to read"
	}
	if f.Fifo {
		return fmt.Sprintf("a process that opens the fifo %s %s", clean.Text(f.Path), other)
	}
	return "the open of " + clean.Text(f.Path)
}

// Queue is a message queue, or semaphores, of System V (sysvipc(7)).
type Queue struct {
	ID  int
	Key uint32 // 0: private, or not known
	// Semaphores are the numbers of those that the call changes; nil: it is a message queue.
	Semaphores []int
	Full       bool // there is no room for a message; otherwise none has come
	// Last is the process that has last taken a message from the full queue, or put one into it. 0: none, or not known.
	Last Peer
}

func (q Queue) String() string {
	id := strconv.Itoa(q.ID)
	if q.Key != 0 {
		id += fmt.Sprintf(" (key %#x)", q.Key)
	}
	switch {
	case q.Semaphores != nil:
		text := "semaphore"
		if len(q.Semaphores) > 1 {
			text = "semaphores"
		}
		for i, n := range q.Semaphores {
			if i > 0 {
				text += ","
			}
			text += " " + strconv.Itoa(n)
		}
		return text + " of System V set " + id
	case q.Full && q.Last.PID != 0:
		return "room in System V message queue " + id + ", last read by pid " + named(q.Last.PID, q.Last.Name)
	case q.Full:
		return "room in System V message queue " + id
	case q.Last.PID != 0:
		return "a message in System V message queue " + id + ", last written by pid " + named(q.Last.PID, q.Last.Name)
	}
	return "a message in System V message queue " + id
}

func tellMessage(send bool) func(*asked) {
	return func(a *asked) {
		a.Kind = WaitQueue
		a.Queue = Queue{ID: a.int(0), Full: send}
		found, ok := procfs.FindIPC(a.p.PID(), "msg", a.Queue.ID)
		if !ok {
			return
		}
		a.Queue.Key = found.Key
		last := found.LastSender
		if send {
			last = found.LastReceiver
		}
		if name, err := procfs.ReadComm(last, last); last > 0 && err == nil {
			a.Queue.Last = Peer{last, name}
		}
	}
}

const (
	sizeofSembuf   = 6 // struct sembuf: a number, a change, flags
	mostSemaphores = 32
)

func semaphoresMemory(spec int) func([6]uint64) []piece {
	return func(args [6]uint64) []piece {
		pieces := []piece{{args[1], sizeofSembuf * int(min(args[2], mostSemaphores))}}
		if spec >= 0 {
			pieces = append(pieces, piece{args[spec], 16})
		}
		return pieces
	}
}

func tellSemaphores(spec int) func(*asked) {
	return func(a *asked) {
		a.Kind = WaitQueue
		a.Queue = Queue{ID: a.int(0), Semaphores: []int{}}
		b := a.memory(a.args[1], sizeofSembuf*int(min(a.args[2], mostSemaphores)))
		for ; len(b) >= sizeofSembuf; b = b[sizeofSembuf:] {
			a.Queue.Semaphores = append(a.Queue.Semaphores, int(binary.LittleEndian.Uint16(b)))
		}
		if found, ok := procfs.FindIPC(a.p.PID(), "sem", a.Queue.ID); ok {
			a.Queue.Key = found.Key
		}
		a.setTimeout(-1, spec)
	}
}
