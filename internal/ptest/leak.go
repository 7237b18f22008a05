package ptest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// baseline is what a test binary has before its tests.
type baseline struct {
	files   map[string]int // what the descriptors refer to, counted
	threads int
}

// observe takes the baseline. The pipe makes the runtime open its poller's descriptors first.
func observe() baseline {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
	return baseline{files: descriptors(), threads: len(numbers("/proc/self/task"))}
}

// leaks returns a description of each thing that is there now and was not there before. It gives
// them time to end.
func (b baseline) leaks() []string {
	var all []string
	for _, find := range []func() []string{children, tracees, goroutines, b.newFiles, b.newThreads} {
		var found []string
		poll(10*time.Second, func() bool { found = find(); return len(found) == 0 })
		all = append(all, found...)
	}
	return all
}

// children returns the children of every thread of this process, zombies included.
func children() []string {
	var found []string
	for _, tid := range numbers("/proc/self/task") {
		b, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/children")
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(b)) {
			n, _ := strconv.Atoi(pid)
			found = append(found, fmt.Sprintf("child %s (%s, state %c)", pid, comm(n), threadState(n, n)))
		}
	}
	return found
}

// tracees returns the threads of all processes that a thread of this process traces.
func tracees() []string {
	own := numbers("/proc/self/task")
	var found []string
	for _, pid := range numbers("/proc") {
		for _, tid := range numbers("/proc/" + strconv.Itoa(pid) + "/task") {
			if tracer := statusNumber(pid, tid, "TracerPid:"); tracer != 0 && slices.Contains(own, tracer) {
				found = append(found, fmt.Sprintf("tracee %d of process %d (%s), traced by thread %d", tid, pid, comm(pid), tracer))
			}
		}
	}
	return found
}

func comm(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm") // empty when it has ended
	return strings.TrimSpace(string(b))
}

// lasting are functions whose goroutines belong to the runtime or to testing, and do not end.
var lasting = []string{"os/signal.signal_recv", "os/signal.loop", "testing.(*M).Run", "testing.runFuzzing", "runtime.ensureSigM"}

// goroutines returns the stacks of all goroutines but the caller's and the lasting ones.
func goroutines() []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var found []string
	for i, stack := range strings.Split(string(buf), "\n\n") {
		last := slices.ContainsFunc(lasting, func(f string) bool { return strings.Contains(stack, f) })
		if i > 0 && !last {
			found = append(found, strings.TrimSpace(stack))
		}
	}
	return found
}

// descriptors counts the open descriptors by what they refer to. Numbers in brackets (inodes of pipes
// and sockets) are left out: those of the standard streams never change, and ours must not become more.
func descriptors() map[string]int {
	files := map[string]int{}
	for _, fd := range numbers("/proc/self/fd") {
		name, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(fd)))
		if err != nil || name == "/proc/"+strconv.Itoa(os.Getpid())+"/fd" {
			continue // the descriptor that reads the directory
		}
		kind, _, _ := strings.Cut(name, ":[")
		files[kind]++
	}
	return files
}

func (b baseline) newFiles() []string {
	var found []string
	for name, n := range descriptors() {
		if n > b.files[name] {
			found = append(found, fmt.Sprintf("%d descriptors of %s (%d before the tests)", n, name, b.files[name]))
		}
	}
	slices.Sort(found)
	return found
}

func (b baseline) newThreads() []string {
	n := len(numbers("/proc/self/task"))
	if n <= b.threads+ThreadSlack {
		return nil
	}
	return []string{fmt.Sprintf("%d OS threads (%d before the tests, slack %d)", n, b.threads, ThreadSlack)}
}
