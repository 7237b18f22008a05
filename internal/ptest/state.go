package ptest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// State returns the letter of the leading thread's state in /proc/PID/stat: R, S, D, T (group stop),
// t (tracing stop), Z; X when there is no such process.
func (g *Target) State() byte { return threadState(g.PID, g.PID) }

// ThreadState is [Target.State] of one thread.
func (g *Target) ThreadState(tid int) byte { return threadState(g.PID, tid) }

// Waits returns the kernel function in which a thread waits, "0" or nothing if it does not wait. It needs root.
func (g *Target) Waits(tid int) string {
	name, err := os.ReadFile("/proc/" + strconv.Itoa(g.PID) + "/task/" + strconv.Itoa(tid) + "/wchan")
	if err != nil {
		return ""
	}
	return string(name)
}

// TracerPID returns the TID of the thread that traces the leading thread, 0 if there is none.
func (g *Target) TracerPID() int { return g.tracer() }

// Threads returns the TIDs in /proc/PID/task.
func (g *Target) Threads() []int { return numbers("/proc/" + strconv.Itoa(g.PID) + "/task") }

// Stopped reports whether every thread is in a stop, of job control or of a tracer.
func (g *Target) Stopped() bool {
	for _, tid := range g.Threads() {
		switch g.ThreadState(tid) {
		case 'T', 't', 'X', 'Z':
		default:
			return false
		}
	}
	return true
}

// WaitFor polls cond until it holds. It is for conditions that a test can only see in /proc. A test
// should wait for other conditions without polling.
func (g *Target) WaitFor(what string, cond func() bool) {
	g.t.Helper()
	if !poll(Patience, cond) {
		g.t.Fatalf("ptest: waited for %s: target %d: state %c, %d threads, traced by %d",
			what, g.PID, g.State(), len(g.Threads()), g.TracerPID())
	}
}

// WaitState waits until the leading thread's state is one of the letters.
func (g *Target) WaitState(letters string) {
	g.t.Helper()
	g.WaitFor("state "+letters, func() bool { return strings.IndexByte(letters, g.State()) >= 0 })
}

// poll checks cond again after 50 us, then at growing intervals, until cond holds or the time is up.
func poll(patience time.Duration, cond func() bool) bool {
	pause := 50 * time.Microsecond
	for end := time.Now().Add(patience); !cond(); pause = min(2*pause, 20*time.Millisecond) {
		if time.Now().After(end) {
			return cond()
		}
		time.Sleep(pause)
	}
	return true
}

// gone reports whether the process has ended: nothing of it is left, or only zombies are.
func (g *Target) gone() bool {
	for _, tid := range g.Threads() {
		if s := g.ThreadState(tid); s != 'Z' && s != 'X' {
			return false
		}
	}
	return true
}

func (g *Target) tracer() int { return statusNumber(g.PID, g.PID, "TracerPid:") }

// ownThread reports whether tid is a thread of this process.
func ownThread(tid int) bool {
	_, err := os.Stat("/proc/self/task/" + strconv.Itoa(tid))
	return tid != 0 && err == nil
}

// threadState returns the state letter, X when the thread is not there.
func threadState(pid, tid int) byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/stat")
	if err != nil {
		return 'X'
	}
	i := bytes.LastIndexByte(b, ')') // the name before it may hold anything
	if i < 0 || i+2 >= len(b) {
		return 'X'
	}
	return b[i+2]
}

// statusNumber returns a number of /proc/PID/task/TID/status, 0 when it is not there.
func statusNumber(pid, tid int, key string) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(tid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(rest))
			return n
		}
	}
	return 0
}

// numbers returns the entries of a directory that are numbers.
func numbers(dir string) []int {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // a process may end meanwhile
	var ns []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			ns = append(ns, n)
		}
	}
	return ns
}
