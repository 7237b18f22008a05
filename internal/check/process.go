package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
	"ptools/internal/need"
	"ptools/internal/perfevent"
	"ptools/internal/procfs"
	"ptools/pctl"
	"ptools/pctl/handle"
)

// tryProcess tries what works with a process of the user's. It stops none of its threads, and sets no breakpoint.
func tryProcess(ctx context.Context, pid int) []Line {
	lines := []Line{tryWant(pid), tryTrap(ctx, pid), tryGrab(ctx, "grab", pid, nil), tryRead(pid)}
	return append(lines, trySymbols(pid)...)
}

// tryWant has the timers sample a process. It may be asleep, so no sample is waited for.
func tryWant(pid int) Line {
	t, err := perfevent.OpenTicker(perfevent.TickerOptions{Period: time.Second, Stack: 1 << 10})
	if err == nil {
		defer t.Close()
		err = t.Want(pid)
	}
	if err != nil {
		return refused(Timers, &need.Timers, err, withoutTimers())
	}
	return works(Timers, "perf events of the processors, chosen by a BPF program")
}

// tryTrap has uprobes made ready for a process.
func tryTrap(ctx context.Context, pid int) Line {
	s := pctl.NewSession(nil)
	defer s.Close()
	p, err := s.Grab(ctx, pid, &pctl.GrabOptions{Trap: pctl.TrapUprobe})
	if err != nil {
		return refused(Uprobes, nil, err, "int3 instructions")
	}
	p.Close()
	return works(Uprobes, perfevent.Mechanism())
}

func tryRead(pid int) Line {
	m, err := mem.Open(pid)
	if err != nil {
		return refused("memory", &need.ForeignMemory, err, "")
	}
	defer m.Close()
	if !m.Writable() {
		return refused("memory", nil, need.ForeignMemory.Explain(os.ErrPermission), "reads by process_vm_readv, writes by ptrace while a thread is stopped")
	}
	return works("memory", "/proc/PID/mem")
}

// trySymbols says where the names of functions come from, for each file that the process has mapped.
func trySymbols(pid int) []Line {
	files := elfsym.NewCache(16)
	defer files.Close()
	space, err := handle.NewSpace(pid, files)
	if err != nil {
		return []Line{refused("names of functions", nil, err, "")}
	}
	defer space.Close()
	var lines []Line
	for _, o := range space.Objects() {
		if !strings.HasPrefix(o.Name, "[") { // code of the kernel
			lines = append(lines, symbolsOf(o))
		}
	}
	return append(lines, tryJIT(pid, space))
}

// getSymbols is how a stripped file gets names.
const getSymbols = "install the debug symbols of its package, or set DEBUGINFOD_URLS"

// symbolsOf says what a file tells of its functions.
func symbolsOf(o handle.Object) Line {
	feature := "names in " + o.Name
	switch {
	case o.File == nil && o.Lack != nil:
		return refused(feature, nil, o.Lack, "")
	case o.File == nil:
		return refused(feature, nil, fmt.Errorf("%s cannot be read, or is not ELF", o.Path), "offsets in the file")
	}
	switch o.File.Names() {
	case elfsym.NamesAndLines:
		if err := o.File.Missing(); err != nil {
			return refused(feature, nil, err, "symbols")
		}
		return works(feature, "debug information")
	case elfsym.NamesOfAll:
		return works(feature, "symbols, without lines and inlined functions")
	case elfsym.NamesOfExports:
		l := refused(feature, nil, errors.New("the file is stripped"), "exported functions")
		l.Remedy = getSymbols
		return l
	}
	l := refused(feature, nil, errors.New("the file is stripped and exports nothing"), "")
	l.Remedy = getSymbols
	return l
}

// tryJIT says whether code that was compiled at run time has names.
func tryJIT(pid int, space *handle.Space) Line {
	const feature = "names of code compiled at run time"
	maps, err := procfs.Maps(pid)
	if err != nil {
		return refused(feature, nil, err, "")
	}
	compiled := false
	for i := range maps {
		m := &maps[i]
		memory := m.Inode == 0 && (m.Path == "" || strings.HasPrefix(m.Path, "[anon")) || strings.HasPrefix(m.Path, "/memfd:")
		compiled = compiled || m.Perm&procfs.Exec != 0 && memory
	}
	switch {
	case space.PerfMap():
		return works(feature, "/tmp/perf-PID.map")
	case !compiled:
		return works(feature, "not needed: there is no such code")
	}
	l := refused(feature, nil, errors.New("there is no /tmp/perf-PID.map of the process's user or root"), "")
	l.Remedy = "node: --perf-basic-prof; java: jcmd PID Compiler.perfmap; erl +JPperf true"
	return l
}
