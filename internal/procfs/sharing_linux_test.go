package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestCompareMemory: without kcmp(2) a copy of the memory is distinguished from the memory too, and nothing
// is left changed.
func TestCompareMemory(t *testing.T) {
	if !ptest.Without(t, "kcmp") {
		return
	}
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "sharedmemory.c"), "-t", "0")
	sharer, err := strconv.Atoi(g.Line())
	if err != nil {
		t.Fatal(err)
	}
	g.Ready()
	if _, err := SharesMemory(g.PID, sharer); !errors.Is(err, syscall.EPERM) {
		t.Fatalf("kcmp: %v", err)
	}
	if shares, err := CompareMemory(g.PID, sharer); err != nil || !shares {
		t.Errorf("a process with the same memory: %v, %v", shares, err)
	}
	if shares, err := CompareMemory(g.PID, os.Getpid()); err != nil || shares {
		t.Errorf("another process: %v, %v", shares, err)
	}
	// Copies that are alike in all that /proc shows.
	shell := ptest.Start(t, "/bin/sh", "-c", "exec 3<&0; (read a <&3; :) & (read a <&3; :) & echo ready; wait")
	shell.Ready()
	var copies []int
	shell.WaitFor("its children", func() bool { copies, _ = Children(shell.PID, shell.PID); return len(copies) == 2 })
	if shares, err := CompareMemory(copies[0], copies[1]); err != nil || shares {
		t.Errorf("copies: %v, %v", shares, err)
	}
	if shares, err := compareFilters(copies[0], copies[1]); err != nil || shares {
		t.Errorf("copies, by the filter: %v, %v", shares, err)
	}
	own, err := readFilter(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range append(copies, g.PID, sharer) {
		if f, err := readFilter(pid); f != own || err != nil {
			t.Errorf("filter of %d: %#x, %v, was %#x", pid, f, err, own)
		}
	}
}

// TestWithMemory: a process has memory, and has not ended, as long as a thread of it lives.
func TestWithMemory(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "leaderdead.c"), "-n", "0", "-t", "2")
	g.Ready()
	g.WaitFor("the end of its leader", func() bool { return g.State() == 'Z' })
	if tid, err := WithMemory(g.PID); err != nil || tid == g.PID {
		t.Errorf("without its leader: %d, %v", tid, err)
	}
	if st, err := ReadStat(g.PID); err != nil || st.Ended() || st.Threads != 3 {
		t.Errorf("without its leader: %+v, %v", st, err)
	}
	if tid, err := WithMemory(os.Getpid()); err != nil || tid != os.Getpid() {
		t.Errorf("own: %d, %v", tid, err)
	}
	zombie := exec.Command("/bin/true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	defer zombie.Wait()
	g.WaitFor("a zombie", func() bool {
		st, err := ReadStat(zombie.Process.Pid)
		return err == nil && st.State == 'Z'
	})
	if tid, err := WithMemory(zombie.Process.Pid); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("zombie: %d, %v", tid, err)
	}
	if st, err := ReadStat(zombie.Process.Pid); err != nil || !st.Ended() {
		t.Errorf("zombie: %+v, %v", st, err)
	}
}

var _ = ptest.Helper("compare", func() {
	var pids [2]int
	for i := range pids {
		pids[i], _ = strconv.Atoi(os.Args[i+1])
	}
	shares, err := CompareMemory(pids[0], pids[1])
	fmt.Println(shares, errors.Is(err, ErrUnknown), errors.Is(err, fs.ErrPermission))
})

// TestCompareMemoryUnknown: if nothing may be read or changed, the result is ErrUnknown.
func TestCompareMemoryUnknown(t *testing.T) {
	ptest.NeedUsers(t)
	shell := ptest.Start(t, "/bin/sh", "-c", "exec 3<&0; (read a <&3; :) & (read a <&3; :) & echo ready; wait")
	shell.Ready()
	var copies []int
	shell.WaitFor("its children", func() bool { copies, _ = Children(shell.PID, shell.PID); return len(copies) == 2 })
	cmd := exec.Command("/proc/self/exe", strconv.Itoa(copies[0]), strconv.Itoa(copies[1]))
	cmd.Env = append(os.Environ(), "PTEST_HELPER=compare")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "false true true\n" {
		t.Errorf("%v, %s", err, out)
	}
}
