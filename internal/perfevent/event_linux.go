package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An Event is one probe on one thread. Its methods may be called from any
// goroutine, Count not after Close.
type Event struct{ fd int }

// Bits of perf_event_attr that x/sys/unix does not name (linux/perf_event.h).
const (
	bitRemoveOnExec = 1 << 36
	bitSigTrap      = 1 << 37
)

// uprobeType is the number of the uprobe PMU, which differs between boots.
var uprobeType = sync.OnceValues(func() (uint32, error) {
	b, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		return 0, ErrNoUprobes
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 32)
	return uint32(n), err
})

// Supported returns nil if the kernel has uprobe events, else [ErrNoUprobes].
// Whether we may open them only Open can tell.
func Supported() error {
	_, err := uprobeType()
	return err
}

// Open probes the instruction at offset off of the file at path whenever thread
// tid executes it. The path is resolved in our own mount namespace and must not
// go through the target's: /proc/PID/root and /proc/PID/map_files do.
//
// Errors: EACCES or EPERM without the privilege, EMFILE when descriptors run out,
// ESRCH when there is no such thread, EINVAL when off is not the start of an
// instruction that can be probed or the kernel has no sigtrap, [ErrNoUprobes].
func Open(path string, off uint64, tid int, o *Options) (*Event, error) {
	typ, err := uprobeType()
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = new(Options)
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return nil, err
	}
	attr := unix.PerfEventAttr{
		Type:   typ,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Ext1:   uint64(uintptr(unsafe.Pointer(name))), // config1: the path
		Ext2:   off,                                   // config2
		Bits:   unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv | bitRemoveOnExec,
		Sample: 1, // every hit
	}
	if o.SigTrap {
		attr.Bits |= bitSigTrap
		attr.Sig_data = o.SigData
	}
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	runtime.KeepAlive(name)
	if err != nil {
		return nil, fmt.Errorf("uprobe at %s+%#x: %w", path, off, err)
	}
	return &Event{fd: fd}, nil
}

// Count returns the number of hits since Open.
func (e *Event) Count() (uint64, error) {
	var b [8]byte
	switch n, err := unix.Read(e.fd, b[:]); {
	case err != nil:
		return 0, fmt.Errorf("read of perf event: %w", err)
	case n != len(b):
		// The event is in an error state: its thread is gone, and with it,
		// where the kernel could not keep it, the count.
		return 0, errors.New("perf event has no count")
	}
	return binary.NativeEndian.Uint64(b[:]), nil
}

// Close lifts the probe. It blocks for tens of milliseconds; see [Closer].
func (e *Event) Close() error {
	if err := unix.Close(e.fd); err != nil {
		return fmt.Errorf("close of perf event: %w", err)
	}
	return nil
}
