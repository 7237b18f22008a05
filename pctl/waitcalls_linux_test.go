package pctl

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// TestEveryWait goes over the table of the system calls that can wait: a thread waits in each of them, and each wait is named.
func TestEveryWait(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "everywait.c"), t.TempDir())
	cannot := map[string]string{}
	for line := g.Line(); line != "ready"; line = g.Line() {
		name, why, _ := strings.Cut(strings.TrimPrefix(line, "cannot "), ": ")
		cannot[name] = why
		t.Logf("not possible here: %s: %s", name, why)
	}
	p := grab(t, session(t, nil), g.PID, nil)
	var threads []*Thread
	if err := p.Pause(bg, func(s *Snapshot) error {
		s.CopyStacks()
		threads = s.Threads()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	const (
		in, out  = `fd \d+ \(pipe:\[\d+\]\), written by pid \d+ \(holder\)`, `fd \d+ \(pipe:\[\d+\]\), read by pid \d+ \(holder\)`
		sock     = `fd \d+ \(socket:\[\d+\]\), unix, peer pid \d+ \(holder\)`
		child    = `child \d+ \(holder\)`
		almost   = `, 59m[45]\d(\.\d+)?s left`
		hour     = `, for 1h0m0s at most`
		polled   = `events at 2 descriptors`
		epolled  = `events of epoll fd \d+ at 2 descriptors`
		restless = `, for (59m[45]\d|1h0m0)(\.\d+)?s at most`
	)
	want := map[string]string{
		"read": in, "readv": in, "preadv2": in, "recvfrom": sock, "recvmsg": sock, "recvmmsg": sock,
		"accept": `fd \d+ \(socket:\[\d+\]\), unix.*`, "accept4": `fd \d+ \(socket:\[\d+\]\), unix.*`, "connect": `fd \d+ \(socket:\[\d+\]\), unix.*`,
		"write": out, "writev": out, "pwritev2": out, "vmsplice": out, "sendfile": out, "sendto": sock, "sendmsg": sock, "sendmmsg": sock,
		"mq_timedreceive": `fd \d+ \(/everywait-\d+.*\)`, "mq_timedsend": `fd \d+ \(/everywait-\d+.*\)`,
		"splice": polled, "tee": polled, "poll": polled + hour, "ppoll": "events at 1 descriptor" + restless, "select": polled + restless,
		"pselect6": "events at 1 descriptor" + restless, "epoll_wait": epolled, "epoll_pwait": epolled + hour, "epoll_pwait2": epolled + restless,
		"io_uring_enter": `events of io_uring fd \d+`, "io_getevents": "events of asynchronous input and output",
		"io_pgetevents": "events of asynchronous input and output" + restless,
		"pause":         "a signal", "rt_sigsuspend": "a signal", "rt_sigtimedwait": "a signal" + restless,
		"wait4": child, "wait4 any": "any child", "waitid": child, "waitid group": `any child of process group \d+`,
		"nanosleep": "time to pass" + almost, "nanosleep again": "time to pass" + almost, "nanosleep alone": "time to pass, 1h0m0s at most",
		"clock_nanosleep": "time to pass" + almost,
		"futex":           `futex 0x\w+ \(word.* in everywait.*\), owner unknown \(.*\)`, "futex_wait": `futex 0x\w+ \(word.* in everywait.*\), owner unknown \(.*\)`,
		"futex_waitv": `futex 0x\w+ \(word.* in everywait.*\), owner unknown \(it waits for any of 2 futexes\)`,
		"flock":       `shared flock lock of fd \d+ \(/.*/locked\), held by pid \d+ \(holder\)`,
		"fcntl":       `shared fcntl lock of fd \d+ \(/.*/record\), held by pid \d+ \(holder\)`,
		"fcntl OFD":   `exclusive OFD lock on bytes 50 to 59 of fd \d+ \(/.*/record\), held by pid \d+ \(holder\)`,
		"open":        `a process that opens the fifo /.*/fifo to write`, "openat2": `a process that opens the fifo /.*/fifo to write`,
		"openat": `a process that opens the fifo fifo2 to read`, "creat": `a process that opens the fifo fifo3 to read`,
		"msgrcv": `a message in System V message queue \d+`, "msgsnd": `room in System V message queue \d+`,
		"semop": `semaphore 1 of System V set \d+`, "semtimedop": `semaphores 0, 2 of System V set \d+` + restless,
	}
	start := time.Now()
	waits := Waits(threads)
	t.Logf("%d waits told in %v", len(waits), time.Since(start))
	got := map[string]Wait{}
	for _, th := range threads {
		got[th.Name()] = waits[th.TID]
	}
	tested := map[string]bool{}
	for name, pattern := range want {
		call, _, _ := strings.Cut(name, " ")
		tested[call] = true
		w, ok := got[name[:min(len(name), 15)]]
		if !ok && call[:2] != "mq" && call[:2] != "io" && cannot[name] == "" {
			t.Errorf("%s: no thread", name)
		}
		if ok && cannot[name] == "" && !regexp.MustCompile("^"+pattern+"$").MatchString(w.String()) {
			t.Errorf("%s waits for %q (%v), want %s", name, w, w.Kind, pattern)
		}
	}
	for call := range waitCalls {
		if !tested[call] {
			t.Errorf("no thread waits in %s", call)
		}
	}
	for name, peers := range map[string][]string{"poll": {in, out}, "select": {in, out}, "pselect6": {in}, "epoll_wait": {sock, `fd \d+ \(anon_inode:\[eventfd\]\)`}} {
		files := got[name].Polled.Files
		for i, pattern := range peers {
			if i >= len(files) || !regexp.MustCompile(pattern).MatchString(files[i].String()) {
				t.Errorf("%s: descriptors %v, want %s", name, files, pattern)
			}
		}
	}
}

// TestTableNames: each name of the table is that of a system call.
func TestTableNames(t *testing.T) {
	names := map[string]bool{}
	for nr := range int64(512) {
		names[procfs.SyscallName(nr)] = true
	}
	for call := range waitCalls {
		if !names[call] {
			t.Errorf("%s is no system call", call)
		}
	}
}
