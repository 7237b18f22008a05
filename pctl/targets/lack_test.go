package targets

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// TestNoDescriptors: other goroutines take all descriptors and close them at any moment. Meanwhile known targets stay,
// and none counts as ended. Afterwards a process that has come meanwhile is found.
func TestNoDescriptors(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	user := Rule{User: "root", Comm: "sleep", Cgroup: "**"}
	if os.Getuid() != 0 {
		t.Skip("the targets are root's")
	}
	g := ptest.Start(t, ptest.Copy(t, "/bin/sleep"), "600")
	w := watch(t, user, Rule{PID: g.PID})
	if !slices.Contains(pids(w), g.PID) {
		t.Fatal("not found")
	}
	target := w.Targets()[slices.Index(pids(w), g.PID)]
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	var taken []int
	take := func() bool {
		fd, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == nil {
			taken = append(taken, fd)
		}
		return err == nil
	}
	give := func(n int) {
		for ; n > 0 && len(taken) > 0; n-- {
			syscall.Close(taken[len(taken)-1])
			taken = taken[:len(taken)-1]
		}
	}
	over := make(chan struct{})
	var taking sync.WaitGroup
	taking.Go(func() { // until over
		defer func() { give(len(taken)) }()
		for i := 0; ; i++ {
			for take() {
			}
			give(i % 3)
			select {
			case <-over:
				return
			default:
			}
		}
	})
	lacking := 0
	for range 3000 {
		w.mu.Lock()
		w.known[g.PID].due = true
		w.mu.Unlock()
		w.Read()
		if w.Err() != nil {
			lacking++
		}
		if !slices.Contains(pids(w), g.PID) || !target.Alive() {
			t.Errorf("the target is gone: %v, after %d readings that failed", pids(w), lacking)
			break
		}
	}
	close(over)
	taking.Wait()
	if lacking == 0 {
		t.Error("no reading lacked descriptors")
	}
	late := ptest.Start(t, "sleep", "600")
	w.Read()
	if w.Err() != nil || !slices.Contains(pids(w), late.PID) {
		t.Errorf("%v, %v", pids(w), w.Err())
	}
}
