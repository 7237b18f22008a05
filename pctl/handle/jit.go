package handle

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"ptools/internal/elfsym"
	"ptools/internal/patience"
	"ptools/internal/procfs"
)

// A jitMap is the process's list of functions compiled at run time. It is the file
// /tmp/perf-PID.map in the process's own root, with the number that the process has
// there. It is opened when code in anonymous memory is first found. It is read when
// its names are first needed, and again when it has grown, also after the process
// has ended.
type jitMap struct {
	pid int

	mu     sync.Mutex
	file   *jitFile        // nil until one is found
	sought *mapState       // the map when no file was found; another map is worth another look
	list   *elfsym.PerfMap // of the file; after close of the last one
	closed bool
	alone  bool // ancestors are not asked
	files  *elfsym.Cache

	parents inherited
}

// lookup returns the function at a program counter.
func (j *jitMap) lookup(src *source, state *mapState, pc uint64) (elfsym.Sym, bool) {
	j.mu.Lock()
	if j.file == nil && j.sought != state && !j.closed {
		j.file, j.sought = j.open(src), state
	}
	if j.file != nil {
		if size, written, err := j.file.look(); err == nil {
			if written {
				j.list.Doubt()
			}
			if _, err := j.list.Refresh(j.file, size); err == elfsym.ErrPerfMap || err == elfsym.ErrPerfMapCrowded { // what could be read still counts
				path := "/tmp/perf-" + strconv.Itoa(j.pid) + ".map"
				j.files.Refuse(path, fmt.Errorf("%s: %w", path, err))
			}
		}
	}
	var sym elfsym.Sym
	ok := false
	list := j.list
	j.mu.Unlock()
	if list != nil {
		if sym, ok = list.Lookup(pc); ok && list.Reused(pc) {
			path := "/tmp/perf-" + strconv.Itoa(j.pid) + ".map"
			j.files.Refuse(path+" (reused)", fmt.Errorf("%s has several functions at addresses that were met, and no times: all that ran there has the name of the last one", path))
		}
	}
	if ok || j.alone {
		return sym, ok
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return sym, false
	}
	return j.parents.lookup(j.pid, j.files, state, pc)
}

// hold opens the file if it is there. By the time a name is needed, the process may have
// ended and its mounts may be gone.
func (j *jitMap) hold(src *source) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil && !j.closed {
		j.file = j.open(src)
	}
}

// PerfMap reports whether the process has a list of functions that were compiled at run time: the file
// /tmp/perf-PID.map, which must belong to its user or to root.
func (s *Space) PerfMap() bool {
	s.jit.hold(s.source)
	s.jit.mu.Lock()
	defer s.jit.mu.Unlock()
	return s.jit.file != nil
}

// open finds the file. Every user may write to /tmp and put one there. So the file has
// to belong to the process's user or to root, and must not be a link.
func (j *jitMap) open(src *source) *jitFile {
	st, err := procfs.ReadStatus(j.pid)
	if err != nil {
		return nil
	}
	pids := []int{st.InnerPID()}
	if st.InnerPID() != j.pid {
		pids = append(pids, j.pid) // written by an agent outside
	}
	for _, pid := range pids {
		name := "perf-" + strconv.Itoa(pid) + ".map"
		opened, err := src.OpenDebug("/tmp/" + name)
		if err != nil {
			continue
		}
		f := &jitFile{Patient: elfsym.NewPatient(opened), file: opened}
		if info, err := f.stat(); err == nil && isNamed(opened, name) {
			owner, ok := info.Sys().(*syscall.Stat_t)
			switch {
			case !ok || owner.Uid != 0 && int(owner.Uid) != st.UID[1]:
			case j.before(info.ModTime()):
				path := "/tmp/" + name
				j.files.Refuse(path, fmt.Errorf("%s is not used: it was written before process %d began, so by another one with that number (touch it if it is right)", path, j.pid))
			default:
				j.list, f.release = j.files.PerfMap(info)
				return f
			}
		}
		f.Close()
	}
	return nil
}

// clockSlack is how much earlier than the process's start the time of a file may be: file systems and the start have times of
// their own granularity.
const clockSlack = 2 * time.Second

// before reports whether a time is before the process began.
func (j *jitMap) before(written time.Time) bool {
	st, err := procfs.ReadStat(j.pid)
	return err == nil && written.Add(clockSlack).Before(time.Now().Add(-procfs.Age(st.StartTime)))
}

// A jitFile is an open list. Its file system may not answer; then it is not asked again.
type jitFile struct {
	*elfsym.Patient
	file    *os.File
	hung    bool
	release func() // what was read of it; nil: nothing

	written time.Time // when it was written to, at the last look
}

// Close closes the list.
func (f *jitFile) Close() error {
	if f.release != nil {
		f.release()
	}
	return f.Patient.Close()
}

func (f *jitFile) stat() (os.FileInfo, error) {
	if f.hung || f.Hung() {
		return nil, patience.ErrHung
	}
	info, err := patience.Do(f.file.Stat, func(os.FileInfo) {})
	f.hung = err == patience.ErrHung
	return info, err
}

// look returns the size of the file, and whether it was written to since the last call.
func (f *jitFile) look() (size int64, written bool, err error) {
	info, err := f.stat()
	if err != nil {
		return 0, false, err
	}
	written = !info.ModTime().Equal(f.written)
	f.written = info.ModTime()
	return info.Size(), written, nil
}

// isNamed reports whether an open file has the name by which it was opened. Otherwise it was reached through a
// symbolic link of that name. Any user may make such a link to a file of root.
func isNamed(f *os.File, name string) bool {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	return err == nil && filepath.Base(strings.TrimSuffix(path, " (deleted)")) == name
}

func (j *jitMap) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.parents.close()
	if j.file != nil {
		j.file.Close()
		j.file = nil
	}
}
