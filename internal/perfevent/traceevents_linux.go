package perfevent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
)

// traceEvents defines events of the kernel's tracing that are uprobes (Documentation/trace/uprobetracer.rst). One event may have many
// places (Linux 5.5). Defined, it does nothing; a perf event for it plants the traps, and its end lifts them all within the same grace
// periods. A definition is the machine's. It stays when we are killed, and keeps the file open: the next traceEvents removes it.
type traceEvents struct {
	dir   int // tracefs
	file  int // uprobe_events
	group string
}

// groupPrefix begins the names of our groups: the PID namespace and the process follow.
const groupPrefix = "ptools"

// openTraceEvents opens tracefs.
func openTraceEvents() (*traceEvents, error) {
	ours, err := namespaceOf("self")
	if err != nil {
		return nil, err
	}
	t := &traceEvents{dir: -1, file: -1, group: fmt.Sprintf("%s_%d_%d", groupPrefix, ours.ino, os.Getpid())}
	if err := t.open(); err != nil {
		t.close()
		return nil, need.TraceEvents.Explain(err)
	}
	t.sweep(ours)
	return t, nil
}

func (t *traceEvents) open() (err error) {
	if t.dir, err = mountTracefs(); err != nil {
		var mounted error
		if t.dir, mounted = unix.Open("/sys/kernel/tracing", unix.O_PATH|unix.O_CLOEXEC, 0); mounted != nil {
			return err
		}
	}
	if t.file, err = unix.Openat(t.dir, "uprobe_events", unix.O_RDWR|unix.O_APPEND|unix.O_CLOEXEC, 0); err != nil {
		t.file = -1
		return os.NewSyscallError("open uprobe_events", err)
	}
	return nil
}

// mountTracefs mounts tracefs for us alone: it need not be mounted elsewhere, and nobody else sees it. It takes CAP_SYS_ADMIN.
func mountTracefs() (int, error) {
	fs, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("fsopen(tracefs)", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, os.NewSyscallError("fsconfig(tracefs)", err)
	}
	dir, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("fsmount(tracefs)", err)
	}
	return dir, nil
}

// close removes nothing.
func (t *traceEvents) close() {
	if t != nil {
		closeAll(t.file, t.dir)
	}
}

// newName returns a name that no event has: a line for one that exists would add a place to it.
func (t *traceEvents) newName() string { return t.group + "/c" + strings.ToLower(rand.Text()) }

// define defines an event by lines, one a place, and returns its number.
func (t *traceEvents) define(name, lines string) (uint64, error) {
	for len(lines) > 0 {
		n, err := unix.Write(t.file, []byte(lines))
		if err != nil {
			return 0, errors.Join(os.NewSyscallError("write to uprobe_events", err), t.remove(name))
		}
		lines = lines[n:]
	}
	b, err := t.read("events/" + name + "/id")
	id, numErr := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err = errors.Join(err, numErr); err != nil {
		return 0, errors.Join(err, t.remove(name))
	}
	return id, nil
}

// remove removes a definition, if there is one.
func (t *traceEvents) remove(name string) error {
	if _, err := unix.Write(t.file, []byte("-:"+name+"\n")); err != nil && err != unix.ENOENT {
		return os.NewSyscallError("removal of "+name+" from uprobe_events", err)
	}
	return nil
}

// sweep removes what processes of our PID namespace have left that were killed. An event that is in use is not removed (EBUSY).
func (t *traceEvents) sweep(ours pidNamespace) {
	b, err := t.read("uprobe_events")
	if err != nil {
		return
	}
	prefix, done := fmt.Sprintf("p:%s_%d_", groupPrefix, ours.ino), map[string]bool{}
	for line := range strings.Lines(string(b)) {
		name, ours := strings.CutPrefix(line, prefix)
		name, _, _ = strings.Cut(name, " ")
		pid, _, ok := strings.Cut(name, "/")
		if !ours || !ok || done[name] {
			continue
		}
		done[name] = true
		if n, err := strconv.Atoi(pid); err == nil && unix.Kill(n, 0) == unix.ESRCH {
			t.remove(strings.TrimPrefix(prefix, "p:") + name)
		}
	}
}

// read reads a file of tracefs.
func (t *traceEvents) read(name string) ([]byte, error) {
	fd, err := unix.Openat(t.dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "tracefs/" + name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return io.ReadAll(f)
}
