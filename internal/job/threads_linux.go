package job

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// TakeThreads has the runtime make n threads now. It keeps them for later: if it needs another one and the kernel refuses it, it
// ends the program (newosproc). The error says that there may be fewer than most, and by which limit; the threads are made
// where the limit is not below n.
func TakeThreads(n, most int) error {
	have, by := allowed()
	if have >= uint64(n) {
		takeThreads(n)
	}
	if have >= uint64(most) {
		return nil
	}
	return fmt.Errorf("up to %d threads are needed, and %s allows %d; without one it ends", most, by, have)
}

// takeThreads has n goroutines wait on threads of their own, which are free afterwards.
func takeThreads(n int) {
	var locked, ended sync.WaitGroup
	all := make(chan struct{})
	locked.Add(n)
	for range n {
		ended.Go(func() { // ends when there are n threads
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			locked.Done()
			<-all
		})
	}
	locked.Wait()
	close(all)
	ended.Wait()
}

// allowed returns the smallest of the limits to the number of threads, less what the limit's cgroup has already, and its name.
// Threads that other processes of the user have are not subtracted from RLIMIT_NPROC: nothing says how many there are.
func allowed() (uint64, string) {
	const rlimitNproc = 6
	least, by := ^uint64(0), ""
	var r syscall.Rlimit
	if err := syscall.Getrlimit(rlimitNproc, &r); err == nil && os.Getuid() != 0 { // the kernel exempts root
		least, by = r.Cur, "ulimit -u"
	}
	for _, dir := range pidsGroups() {
		most, err := number(dir, "/pids.max")
		now, err2 := number(dir, "/pids.current")
		if err == nil && err2 == nil && most-min(most, now) < least {
			least, by = most-min(most, now), "pids.max of its cgroup (TasksMax of a unit)"
		}
	}
	return least, by
}

// pidsGroups returns the directories, below /sys/fs/cgroup, of the cgroups, from this process's to the root, whose limits hold.
func pidsGroups() (dirs []string) {
	b, _ := os.ReadFile("/proc/self/cgroup") // without it no limit is known
	for line := range strings.Lines(string(b)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 || part[1] != "" && part[1] != "pids" {
			continue
		}
		root := ""
		if part[1] != "" { // version 1
			root = "/pids"
		}
		for path := part[2]; path != "" && path != "/"; path = path[:strings.LastIndexByte(path, '/')] {
			dirs = append(dirs, root+path)
		}
	}
	return dirs
}

func number(dir, name string) (uint64, error) {
	b, err := os.ReadFile("/sys/fs/cgroup" + dir + name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 64) // "max" is none
}
