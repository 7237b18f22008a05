package sample

import "sync"

// Clients that have waited long enough for the names of a process leave behind the goroutine that looks up one of them: a file may take seconds to be
// read, and whoever owns it decides that. Each client leaves one, and each waits for the others at the same file. So names of a process are looked up by
// one goroutine at a time, and the others give up with their clients.

// queues are the processes whose names are being looked up.
var queues = struct {
	mu sync.Mutex
	of map[int]*queue
}{of: make(map[int]*queue)}

// A queue is that of the goroutines that look up names of a process, one at a time. nil is that of a single one.
type queue struct {
	pid   int
	taken chan struct{} // has room for one
	users int           // under queues.mu
}

// queueOf returns the queue of a process. leave must be called.
func queueOf(pid int) *queue {
	queues.mu.Lock()
	defer queues.mu.Unlock()
	q := queues.of[pid]
	if q == nil {
		q = &queue{pid: pid, taken: make(chan struct{}, 1)}
		queues.of[pid] = q
	}
	q.users++
	return q
}

func (q *queue) leave() {
	if q == nil {
		return
	}
	queues.mu.Lock()
	defer queues.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(queues.of, q.pid)
	}
}

// do calls f, and reports whether it has: it does not if stop is closed first.
func (q *queue) do(stop <-chan struct{}, f func()) bool {
	select {
	case <-stop:
		return false
	default:
	}
	if q != nil {
		select {
		case q.taken <- struct{}{}:
		case <-stop:
			return false
		}
		defer func() { <-q.taken }()
	}
	f()
	return true
}
