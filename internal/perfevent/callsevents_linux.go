package perfevent

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
	"ptools/internal/ptrace"
)

// A callStart is what the programs of a Calls begin with. Without uprobe_multi links (Linux 6.6) each place is a perf event of the uprobe
// PMU. Its program also runs in children of vfork(2), and finds the cookie of the place in a link of the event (Linux 5.15), or has it as
// a constant.
type callStart struct {
	events   bool
	constant bool // each place has a program of its own
	pid      int
	ours     pidNamespace
}

// startOf finds out what kind of probes a Calls of a process has.
func startOf(pid int) (s callStart, err error) {
	how, err := mechanismOf()
	if err != nil || how == probeLinks {
		return s, err
	}
	s.events, s.pid = true, pid
	if s.ours, err = ourNamespace(pid); err != nil {
		return s, err
	}
	// The maximum of durations, and numbers of new keys, are set by operations that return the old value.
	fetch, err := loadEvent(finish([]instruction{
		{op: bpfMovImm, dst: 0},
		{op: bpfStoreDW, dst: 10, src: 0, off: -8},
		{op: bpfAtomic, dst: 10, src: 0, off: -8, imm: bpfFetchAdd},
	}))
	if errors.Is(err, unix.EINVAL) {
		return s, ErrNoFetch
	}
	if err != nil {
		return s, os.NewSyscallError("bpf(BPF_PROG_LOAD)", err)
	}
	unix.Close(fetch)
	cookie, err := loadEvent(finish([]instruction{{op: bpfCall, imm: helperAttachCookie}}))
	if s.constant = err != nil; !s.constant {
		unix.Close(cookie)
	}
	return s, nil
}

// loadEvent loads a program for perf events.
func loadEvent(code []instruction) (int, error) {
	return loadProgram(code, unix.BPF_PROG_TYPE_KPROBE, 0, 0)
}

// begin leaves the context in register 6, and the cookie of the place in register 7.
func (a *assembly) begin(s callStart, p *CallPlace) {
	a.add(instruction{op: bpfMovReg, dst: 6, src: 1})
	if s.events {
		a.add(keyNumber(ofProcess, s.ours)...)
		a.add(
			instruction{op: bpfLoadW, dst: 1, src: 10, off: varKey},
			instruction{op: bpfJumpNe, dst: 1, imm: int32(s.pid), off: toOut})
	}
	if s.constant {
		cookie := p.cookie()
		a.add(instruction{op: bpfLoad64, dst: 7, imm: int32(cookie)}, instruction{imm: int32(cookie >> 32)})
		return
	}
	a.add(instruction{op: bpfMovReg, dst: 1, src: 6})
	a.add(
		instruction{op: bpfCall, imm: helperAttachCookie},
		instruction{op: bpfMovReg, dst: 7, src: 0})
}

// event makes the probe of one place, and returns its descriptor.
func (c *Calls) event(path string, entry bool, p *CallPlace) (int, error) {
	program, err := c.program(p, entry)
	if err != nil {
		return -1, err
	}
	if c.maps.start.constant {
		defer unix.Close(program) // the event keeps it
	}
	event, err := openProbeEvent(path, p.Off, c.pid)
	if err != nil {
		return -1, err
	}
	if c.maps.start.constant {
		if err = unix.IoctlSetInt(event, unix.PERF_EVENT_IOC_SET_BPF, program); err != nil {
			ptrace.CloseApart(event)
			return -1, os.NewSyscallError("ioctl(PERF_EVENT_IOC_SET_BPF)", err)
		}
		return event, nil
	}
	attr := &struct {
		program, event, attach, flags uint32
		cookie                        uint64
	}{program: uint32(program), event: uint32(event), attach: unix.BPF_PERF_EVENT, cookie: p.cookie()}
	link, err := bpf(unix.BPF_LINK_CREATE, unsafe.Pointer(attr), unsafe.Sizeof(*attr))
	runtime.KeepAlive(attr)
	if err != nil {
		ptrace.CloseApart(event)
		return -1, os.NewSyscallError("bpf(BPF_LINK_CREATE)", err)
	}
	unix.Close(event) // the link keeps it
	return link, nil
}

// attachEvents is Attach where each place is an event.
func (c *Calls) attachEvents(path string, entries bool, places []CallPlace) map[int]error {
	refused := map[int]error{}
	for i := range places {
		fd, err := c.event(path, entries, &places[i])
		if err != nil {
			refused[places[i].Function] = need.Uprobes.Explain(err)
			continue
		}
		c.links = append(c.links, fd)
	}
	return refused
}

// closingEvents is how many events are closed at a time, each by a process, for which a thread of ours waits. Each waits for grace periods.
const closingEvents = 256

// closeEvents lifts the probes.
func (c *Calls) closeEvents() error {
	var wg sync.WaitGroup
	turn := make(chan struct{}, closingEvents)
	errs := make([]error, len(c.links))
	for i, fd := range c.links {
		turn <- struct{}{}
		wg.Go(func() { // ends with the system call
			runtime.LockOSThread() // for good: the thread ends
			errs[i] = closeProbe(fd)
			<-turn
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// besidePlaces is how many descriptors are left for everything that is not the probe of a place.
const besidePlaces = 128

// RoomForPlaces returns an error if a Calls cannot have a number of places, because each takes a descriptor.
func RoomForPlaces(n int) error {
	var limit unix.Rlimit
	if how, _ := mechanismOf(); how != probeEvents || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return nil
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	if room := int64(min(limit.Cur, 1<<32)) - int64(len(open)) - besidePlaces; int64(n) > room {
		return &PlacesError{n, max(0, int(room))}
	}
	return nil
}
