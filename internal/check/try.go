package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"ptools/internal/mem"
	"ptools/internal/need"
	"ptools/internal/patience"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/pctl"
)

// Names of the features, in the order in which they are shown.
const (
	Timers     = "timers"
	Children   = "children at birth"
	Uprobes    = "uprobes"
	Int3s      = "int3 breakpoints"
	Grabs      = "grabs of own processes"
	Strangers  = "grabs of processes that are no descendants"
	Foreigners = "grabs of other users' processes"
	Memory     = "memory of other users' processes"
	Threads    = "threads at once"
	Peeks      = "looks at lock holders that run"
	Switches   = "context switches at once"
	Kernel     = "kernel symbols"
	Types      = "kernel types (BTF)"
	Containers = "processes in containers"
	Lost       = "files without a name"
	Sockets    = "timeouts of sockets"
)

// longest bounds each try, as busyFor says where the child has to be busy.
const longest = 2 * time.Second

// stopsBy bounds the try of a breakpoint. On a machine with far more busy threads than processors the child and we wait for a
// processor in turn: it must not be said there that there are no breakpoints.
const stopsBy = 10 * time.Second

// tryAll tries everything that needs no process of the user's. Much of the time goes to grace periods of the kernel, when events
// and probes are closed, and tries that go on at the same time share these. What is traced is a child of its own. The children
// that are always busy have ended before the others begin.
func tryAll(ctx context.Context) []Line {
	own, err := start(ctx, plain)
	if err != nil {
		return []Line{untried("children of this program", err)}
	}
	defer own.end()
	if err := ownPID(); err != nil {
		return []Line{refused("/proc", nil, err, "")}
	}
	ofBusy := atOnce(on(ctx, busy, Timers, func(s *specimen) Line { return tryTimers(s.pid) }), on(ctx, busy, Peeks, tryPeeks))
	rest := atOnce(
		tryChildren,
		func() Line { return tryThreads(own.pid) },
		func() Line { return trySwitches(own.pid) },
		on(ctx, plain, Uprobes, func(s *specimen) Line { return tryBreak(ctx, Uprobes, s.pid, pctl.TrapUprobe) }),
		on(ctx, plain, Int3s, func(s *specimen) Line { return tryBreak(ctx, Int3s, s.pid, pctl.TrapInt3) }),
		on(ctx, plain, Grabs, func(s *specimen) Line { return tryGrab(ctx, Grabs, s.pid, &need.Tracing) }),
		on(ctx, parent, Strangers, func(s *specimen) Line { return tryGrab(ctx, Strangers, s.pid, nil) }),
		on(ctx, undumpable, Foreigners, func(s *specimen) Line { return tryForeigner(ctx, s.pid) }),
		on(ctx, undumpable, Memory, tryMemory),
		on(ctx, contained, Containers, func(s *specimen) Line { return tryContainer(ctx, s.pid) }),
		func() Line { return tryFiles(own.pid) },
		func() Line { return trySockets(own) },
		tryKernelSymbols,
		tryTypes,
	)
	return slices.Insert(append(ofBusy[:1:1], rest...), 3, ofBusy[1])
}

// atOnce makes tries at the same time, and returns their Lines in the order given.
func atOnce(tries ...func() Line) []Line {
	lines := make([]Line, len(tries))
	var all sync.WaitGroup
	for i, try := range tries {
		all.Go(func() { lines[i] = try() })
	}
	all.Wait()
	return lines
}

// on returns a try on a child of its own.
func on(ctx context.Context, kind, feature string, try func(*specimen) Line) func() Line {
	return func() Line {
		s, err := start(ctx, kind)
		if err != nil {
			return untried(feature, fmt.Errorf("no child could be made for it: %w", err))
		}
		defer s.end()
		return try(s)
	}
}

// busyFor returns a function that reports whether a child has not used so much processor time yet, from now on. On a busy machine
// that takes longer, but no more than ten times as long.
func busyFor(pid int, d time.Duration) func() bool {
	used := func() time.Duration {
		st, _ := procfs.ReadStat(pid)
		return time.Duration(st.UTime+st.STime) * 10 * time.Millisecond // USER_HZ is 100
	}
	end, most := time.Now().Add(10*d), used()+d
	return func() bool { return time.Now().Before(end) && used() < most }
}

// withoutTimers says how processor time is measured then.
func withoutTimers() string {
	if task, err := procfs.OpenTask(os.Getpid(), os.Getpid()); err == nil {
		defer task.Close()
		if _, err := task.Turn(); err == nil {
			return "looks at random moments, each of which stops the thread that runs"
		}
	}
	return "in rounds, which stop the threads that run"
}

// tryTimers samples a busy child.
func tryTimers(pid int) Line {
	stops := withoutTimers()
	t, err := perfevent.OpenTicker(perfevent.TickerOptions{Period: 2 * time.Millisecond, Stack: 1 << 10})
	if err != nil {
		return refused(Timers, &need.Timers, err, stops)
	}
	defer t.Close()
	if err := t.Want(pid); err != nil {
		return refused(Timers, &need.Timers, err, stops)
	}
	ticks := 0
	for until := busyFor(pid, longest); ticks == 0 && until(); time.Sleep(10 * time.Millisecond) {
		t.Read(func(r *perfevent.Record) {
			if r.Kind == perfevent.Tick && r.PID == pid {
				ticks++
			}
		})
	}
	if ticks == 0 {
		return refused(Timers, nil, fmt.Errorf("no sample of a process that was busy for %v", longest), stops)
	}
	return works(Timers, "perf events of the processors, chosen by a BPF program")
}

// tryChildren finds out how the children of a sampled process are followed.
func tryChildren() Line {
	t, err := perfevent.OpenTicker(perfevent.TickerOptions{Period: time.Second, Stack: 1 << 10, Follow: perfevent.FollowAuto})
	if err != nil {
		return Line{Feature: Children, State: Instead, By: "children are controlled from their birth", Why: "it needs timers"}
	}
	defer t.Close()
	if t.Follows() == perfevent.FollowAuto {
		return works(Children, "a BPF program at fork")
	}
	return refused(Children, nil, errors.New("the kernel lets no BPF program run at a fork"), "records of births, read some milliseconds late")
}

// tryThreads reads the threads of a child.
func tryThreads(pid int) Line {
	const files = "files of /proc, thread by thread"
	t, err := perfevent.OpenTasks(pid)
	if err != nil {
		return refused(Threads, &need.Tasks, err, files)
	}
	defer t.Close()
	list, err := t.Read()
	for i := range list {
		if list[i].TID == pid {
			return works(Threads, "a BPF iterator of tasks")
		}
	}
	return refused(Threads, nil, errors.Join(errors.New("the first thread is not in the list"), err), files)
}

// tryPeeks looks at a busy thread on whichever processor it is.
func tryPeeks(s *specimen) Line {
	const none = "such holders have no stacks with --blame"
	p, err := perfevent.OpenPeeker()
	if err != nil {
		return refused(Peeks, &need.Peeks, err, none)
	}
	defer p.Close()
	for until := busyFor(s.pid, longest); until(); {
		tids, err := procfs.Tasks(s.pid, nil)
		if err != nil {
			return refused(Peeks, nil, err, none)
		}
		for _, tid := range tids {
			for cpu := range runtime.NumCPU() {
				if p.Peek(cpu, tid, uint64(s.addr)) != nil {
					return works(Peeks, "a BPF program on the thread's processor")
				}
			}
		}
	}
	return refused(Peeks, nil, fmt.Errorf("a thread that was busy for %v was not met", longest), none)
}

// trySwitches asks how often the threads of a child were put on a processor.
func trySwitches(pid int) Line {
	const files = "a file of /proc for each thread"
	t, err := procfs.OpenTaskStats(pid)
	if err == nil {
		defer t.Close()
		_, err = t.Sum()
	}
	if err != nil {
		return refused(Switches, &need.Accounting, err, files)
	}
	return works(Switches, "taskstats")
}

// tryMemory reads and writes the memory of a child whose files are those of root.
func tryMemory(s *specimen) Line {
	m, err := mem.Open(s.pid)
	if err != nil {
		return refused(Memory, &need.ForeignMemory, err, "")
	}
	defer m.Close()
	switch got, err := mem.ReadUint64(m, uint64(s.addr)); {
	case err != nil:
		return refused(Memory, &need.ForeignMemory, err, "")
	case got != magic:
		return refused(Memory, nil, fmt.Errorf("%#x was read in place of %#x", got, uint64(magic)), "")
	case !m.Writable():
		err := need.ForeignMemory.Explain(os.ErrPermission)
		return refused(Memory, nil, err, "reads by process_vm_readv, writes by ptrace while a thread is stopped")
	}
	return works(Memory, "/proc/PID/mem")
}

// tryFiles opens a file of a child by its mapping, as is done for files that were deleted.
func tryFiles(pid int) Line {
	maps, err := procfs.Maps(pid)
	if err == nil && len(maps) > 0 {
		var f *os.File
		if f, err = patience.Open(fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, maps[0].Start, maps[0].End)); err == nil {
			f.Close()
		}
	}
	if err != nil {
		return refused(Lost, &need.LostFiles, err, "exported functions, read from memory")
	}
	return works(Lost, "/proc/PID/map_files")
}

// trySockets reads the timeout of a child's socket.
func trySockets(s *specimen) Line {
	const anew = "their timeouts start anew at every stop"
	socket, err := procfs.OpenSocket(s.pid, s.socket)
	if err == nil {
		defer socket.Close()
		_, err = socket.Timeout(procfs.ReceiveTimeout)
	}
	if err != nil {
		return refused(Sockets, &need.Sockets, err, anew)
	}
	return works(Sockets, "pidfd_getfd")
}

func tryKernelSymbols() Line {
	if err := procfs.KernelSymbolsShown(); err != nil {
		return refused(Kernel, &need.KernelSymbols, err, "")
	}
	return works(Kernel, "/proc/kallsyms")
}

func tryTypes() Line {
	if err := perfevent.ReadTypes(); err != nil {
		l := refused(Types, nil, err, "files of /proc")
		if errors.Is(err, os.ErrNotExist) {
			l.Remedy = "use a kernel with CONFIG_DEBUG_INFO_BTF"
		}
		return l
	}
	return works(Types, "/sys/kernel/btf/vmlinux")
}
