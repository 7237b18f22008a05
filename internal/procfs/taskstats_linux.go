package procfs

import "golang.org/x/sys/unix"

// A TaskStats asks the kernel what all threads of one process have done, over a
// netlink socket of its own. One goroutine at a time may use it. Asking allocates
// nothing.
type TaskStats struct {
	fd      int
	request []byte
	reply   [4096]byte
}

// OpenTaskStats returns the TaskStats of a process. On a kernel without
// CONFIG_TASKSTATS the error is ENOENT. It does not check for CAP_NET_ADMIN, which is
// needed: without that, Sum returns EPERM.
func OpenTaskStats(pid int) (*TaskStats, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_GENERIC)
	if err != nil {
		return nil, err
	}
	t := &TaskStats{fd: fd}
	if err := t.open(pid); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return t, nil
}

func (t *TaskStats) open(pid int) error {
	if err := unix.Connect(t.fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	t.request = appendRequest(nil, ctrlFamily, ctrlGetFamily, ctrlFamilyName, []byte("TASKSTATS\x00"))
	b, err := t.ask()
	if err != nil {
		return err
	}
	family, err := parseFamily(b)
	if err != nil {
		return err
	}
	t.request = appendRequest(t.request[:0], family, taskstatsGet, taskstatsTGID,
		netlinkOrder.AppendUint32(nil, uint32(pid)))
	return nil
}

// ask sends the request and returns the reply. The kernel has answered by the time
// the request is sent, so there is nothing to wait for.
func (t *TaskStats) ask() ([]byte, error) {
	for {
		_, err := unix.Write(t.fd, t.request)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return nil, err
		}
	}
	for {
		n, err := unix.Read(t.fd, t.reply[:])
		if err == nil {
			return t.reply[:n], nil
		}
		if err != unix.EINTR {
			return nil, err
		}
	}
}

// Sum returns the sums over all threads that the process has or has had. A thread that is ending may be counted twice
// for a moment. The error is ESRCH if the process is gone.
func (t *TaskStats) Sum() (TaskSum, error) {
	b, err := t.ask()
	if err != nil {
		return TaskSum{}, err
	}
	return parseTaskStats(b)
}

// Close closes the socket.
func (t *TaskStats) Close() error { return unix.Close(t.fd) }
