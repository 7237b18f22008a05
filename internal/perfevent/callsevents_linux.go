package perfevent

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
	"ptools/internal/ptrace"
)

// Without uprobe_multi links (Linux 6.6) the places of a program in a file are one event of the kernel's tracing (traceEvents), and the program runs
// at a perf event for that. A perf event of the uprobe PMU for each place would do, too, but the kernel closes them one after the other,
// each with grace periods of its own: 100 took 8.5 s. There is no cookie of a place then: a table has them, by their addresses.

// A callStart is what the programs of a Calls begin with.
type callStart struct {
	events  *traceEvents // nil: probes are uprobe_multi links
	pid     int
	ours    pidNamespace
	cookies int // the table of cookies by address; -1: links have them
}

// MostPlaces is how many places one [Calls] may have where links have no cookies.
const MostPlaces = 1 << 20

// start finds out what kind of probes there are.
func (c *Calls) start(places int) error {
	how, err := mechanismOf()
	if err != nil || how == probeLinks {
		return err
	}
	s := &c.maps.start
	if s.ours, err = ourNamespace(c.pid); err != nil {
		return err
	}
	// The maximum of durations, and numbers of new keys, are set by operations that return the old value.
	fetch, err := loadEvent(finish([]instruction{
		{op: bpfMovImm, dst: 0},
		{op: bpfStoreDW, dst: 10, src: 0, off: -8},
		{op: bpfAtomic, dst: 10, src: 0, off: -8, imm: bpfFetchAdd},
	}))
	if errors.Is(err, unix.EINVAL) {
		return ErrNoFetch
	}
	if err != nil {
		return os.NewSyscallError("bpf(BPF_PROG_LOAD)", err)
	}
	unix.Close(fetch)
	if s.events, err = openTraceEvents(); err != nil {
		return err
	}
	if places > MostPlaces {
		return fmt.Errorf("%d probes are more than %d", places, MostPlaces)
	}
	s.cookies, err = newTable(8, 8, uint32(max(places, 1)), 0)
	return os.NewSyscallError("bpf(BPF_MAP_CREATE)", err)
}

// close gives back what start has opened.
func (s *callStart) close() {
	s.events.close()
	closeAll(s.cookies)
	s.events, s.cookies = nil, -1
}

// loadEvent loads a program for perf events.
func loadEvent(code []instruction) (int, error) {
	return loadUprobe(code, 0)
}

// begin leaves the context in register 6, and the cookie of the place in register 7. The program of a perf event also runs in children of
// vfork(2), where it ends. It counts threads that are in a mapping of the file whose places it does not know.
func (a *assembly) begin(m callMaps) {
	a.add(instruction{op: bpfMovReg, dst: 6, src: 1})
	if m.start.events == nil {
		a.add(
			instruction{op: bpfCall, imm: helperAttachCookie},
			instruction{op: bpfMovReg, dst: 7, src: 0})
		m.family.ifKin(a)
		return
	}
	a.add(keyNumber(ofProcess, m.start.ours)...)
	a.add(
		instruction{op: bpfLoadW, dst: 1, src: 10, off: varKey},
		instruction{op: bpfJumpNe, dst: 1, imm: int32(m.start.pid), off: toOut},
		instruction{op: bpfLoadDW, dst: 1, src: 6, off: ctxIP},
		instruction{op: bpfStoreDW, dst: 10, src: 1, off: callKey},
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_FD, imm: int32(m.start.cookies)}, instruction{},
		instruction{op: bpfMovReg, dst: 2, src: 10},
		instruction{op: bpfAddImm, dst: 2, imm: callKey},
		instruction{op: bpfCall, imm: helperMapLookup})
	a.jump(instruction{op: bpfJumpNe, dst: 0}, "here")
	a.add(
		instruction{op: bpfLoad64, dst: 1, src: unix.BPF_PSEUDO_MAP_VALUE, imm: int32(m.words)}, instruction{},
		instruction{op: bpfLoadDW, dst: 2, src: 1, off: 8 * wordOn},
		instruction{op: bpfJumpEq, dst: 2, off: toOut},
		instruction{op: bpfMovImm, dst: 2, imm: 1},
		instruction{op: bpfAtomic, dst: 1, src: 2, off: 8 * wordElsewhere},
		instruction{op: bpfJump, off: toOut})
	a.mark("here")
	a.add(instruction{op: bpfLoadDW, dst: 7, src: 0})
}

// errShared says that a place has the cookie of another one.
var errShared = errors.New("another function that is counted has the same instruction, which cannot be told apart before Linux 6.6")

// known puts the cookies of places into the table, and returns the places that are in it then.
func (c *Calls) known(places []CallPlace, refused map[int]error) []CallPlace {
	var all []CallPlace
	for _, p := range places {
		words := &struct{ addr, cookie uint64 }{p.Addr, p.cookie()}
		call := &mapCall{
			fd: uint32(c.maps.start.cookies), key: pointer(unsafe.Pointer(&words.addr)), value: pointer(unsafe.Pointer(&words.cookie)), flags: updateIfAbsent,
		}
		_, _, err := unix.RawSyscall(unix.SYS_BPF, unix.BPF_MAP_UPDATE_ELEM, uintptr(unsafe.Pointer(call)), unsafe.Sizeof(*call))
		runtime.KeepAlive(words)
		switch err {
		case 0:
			all = append(all, p)
		case unix.EEXIST:
			refused[p.Function] = errShared
		default:
			refused[p.Function] = os.NewSyscallError("bpf(BPF_MAP_UPDATE_ELEM)", err)
		}
	}
	return all
}

// traceLink has a program run at places of a file, like link.
func (c *Calls) traceLink(program int, path string, places []CallPlace) (callLink, error) {
	events := c.maps.start.events
	name := events.newName()
	var lines strings.Builder
	for i := range places {
		fmt.Fprintf(&lines, "p:%s %s:%#x\n", name, path, places[i].Off)
	}
	id, err := events.define(name, lines.String())
	if err != nil {
		return callLink{}, fmt.Errorf("uprobes in %s: %w", path, err)
	}
	fd, err := openTraceEvent(id, c.pid)
	if err == nil {
		if err = unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, program); err != nil {
			ptrace.CloseApart(fd)
			err = os.NewSyscallError("ioctl(PERF_EVENT_IOC_SET_BPF)", err)
		}
	}
	if err != nil {
		return callLink{}, errors.Join(fmt.Errorf("uprobes in %s: %w", path, err), events.remove(name))
	}
	return callLink{fd: fd, event: name}, nil
}

// openTraceEvent makes a perf event for an event of tracing. It plants the traps in the process alone, and is never enabled: see
// openProbeEvent.
func openTraceEvent(id uint64, pid int) (int, error) {
	attr := &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_TRACEPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: id, Sample: 1, Bits: unix.PerfBitDisabled,
	}
	none := ^uintptr(0)
	fd, err := ptrace.CallApart(unix.SYS_PERF_EVENT_OPEN,
		[5]uintptr{uintptr(unsafe.Pointer(attr)), uintptr(pid), none, none, unix.PERF_FLAG_FD_CLOEXEC}, unsafe.Pointer(attr))
	runtime.KeepAlive(attr)
	if err != nil {
		return -1, need.UprobeEvents.Explain(os.NewSyscallError("perf_event_open", err))
	}
	return int(fd), nil
}
