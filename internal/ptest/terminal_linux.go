package ptest

import (
	"os"
	"strconv"
	"syscall"
	"testing"
	"unsafe"
)

// NewTerminal opens a terminal, for the [Options] of one target.
func NewTerminal(t testing.TB) *Terminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("ptest: %v", err)
	}
	t.Cleanup(func() { keys.Close() })
	m := &Terminal{t: t, keys: keys}
	var number, locked int32
	m.request(syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	m.request(syscall.TIOCGPTN, unsafe.Pointer(&number))
	m.slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("ptest: %v", err)
	}
	t.Cleanup(func() { m.slave.Close() })
	var mode syscall.Termios
	m.request(syscall.TCGETS, unsafe.Pointer(&mode))
	mode.Lflag &^= syscall.ECHO
	mode.Oflag &^= syscall.OPOST // no carriage returns
	m.request(syscall.TCSETS, unsafe.Pointer(&mode))
	return m
}

// Foreground returns the process group that has the terminal.
func (m *Terminal) Foreground() int {
	m.t.Helper()
	var group int32
	m.request(syscall.TIOCGPGRP, unsafe.Pointer(&group))
	return int(group)
}

// request makes one of the requests of ioctl_tty(2).
func (m *Terminal) request(nr uintptr, arg unsafe.Pointer) {
	m.t.Helper()
	raw, err := m.keys.SyscallConn()
	if err != nil {
		m.t.Fatalf("ptest: terminal: %v", err)
	}
	var e syscall.Errno
	if err := raw.Control(func(fd uintptr) {
		_, _, e = syscall.Syscall(syscall.SYS_IOCTL, fd, nr, uintptr(arg))
	}); err != nil || e != 0 {
		m.t.Fatalf("ptest: terminal: request %#x: %v, %v", nr, e, err)
	}
}
