package procfs

import (
	"errors"
	"syscall"
)

// A leader that has ended before its threads stays as a zombie without
// memory, root or executable, while the process goes on: /proc/PID/maps is
// empty then and the links are broken, but the files of every other thread
// still show what the threads share.

// readShared reads a file that shows something all threads share: from the
// leader, or where the leader has nothing to show, from any thread that has.
func readShared(pid int, file string, buf []byte) ([]byte, error) {
	p := processPath(pid, file)
	b, err := p.read(buf)
	if err == nil && len(b) > 0 || err != nil && !errors.Is(err, syscall.ESRCH) {
		return b, err
	}
	viaThread(pid, func(tid int) bool {
		t := taskPath(pid, tid, file)
		more, terr := t.read(buf)
		if terr != nil || len(more) == 0 {
			return false
		}
		b, err = more, nil
		return true
	})
	return b, err
}

// viaThread calls try for the threads of the process but the leader until it
// returns true.
func viaThread(pid int, try func(tid int) bool) bool {
	tids, err := Tasks(pid, nil)
	if err != nil {
		return false
	}
	for _, tid := range tids {
		if tid != pid && try(tid) {
			return true
		}
	}
	return false
}
