package procfs

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestParseExecStart(t *testing.T) {
	const head = "cat (30802, #threads: 1)\n----\n"
	for text, want := range map[string]time.Duration{
		head + "se.exec_start                                :       2116616.325826\nse.vruntime : 1.0\n": 2116616325826,
		head + "se.vruntime : 1.0\n":    -1,
		head + "se.exec_start : 12\n":   -1,
		head + "se.exec_start : 12.5\n": -1,
		head + "se.exec_start":          -1,
		"":                              -1,
	} {
		got, err := parseExecStart([]byte(text))
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	if _, err := parseExecStart([]byte(head + "se.exec_start : 0.000000\n")); !errors.Is(err, unix.ENODATA) {
		t.Errorf("of a thread that was moved: %v", err)
	}
}

// TestLastRun: since when a thread sleeps is known from the clock of its processor, as it is asked for
// by a thread that goes there.
func TestLastRun(t *testing.T) {
	cmd := sleeper(t)
	pid := cmd.Process.Pid
	for range 1000 {
		if st, err := ReadStat(pid); err != nil {
			t.Fatal(err)
		} else if st.State == 'S' {
			break
		}
		time.Sleep(time.Millisecond)
	}
	asleep := Monotonic()
	time.Sleep(100 * time.Millisecond)
	run, err := ReadLastRun(pid, pid)
	if err != nil {
		t.Fatal(err)
	}
	ahead, err := CPUClock(run.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if at := run.At + ahead; at > asleep+20*time.Millisecond || at < asleep-5*time.Second {
		t.Errorf("on processor %d last at %v, seen asleep at %v", run.CPU, at, asleep)
	}
	if _, err := CPUClock(1 << 9); err == nil {
		t.Error("asked a processor that does not exist")
	}
}

// TestOpenSocket: only sockets are duplicated.
func TestOpenSocket(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	s, err := OpenSocket(os.Getpid(), fds[0])
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if d, err := s.Timeout(ReceiveTimeout); d != 0 || err != nil {
		t.Errorf("timeout %v, %v", d, err)
	}
	if err := s.SetTimeout(ReceiveTimeout, 2*time.Second); err != nil {
		t.Error(err)
	}
	if tv, err := unix.GetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO); err != nil || tv.Nano() != 2e9 {
		t.Errorf("the socket's timeout is %v, %v", tv, err)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := OpenSocket(os.Getpid(), int(f.Fd())); !errors.Is(err, unix.ENOTSOCK) {
		t.Errorf("a file: %v", err)
	}
}
