package control

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"ptools/internal/ptest"
	"ptools/internal/ptrace"
	"ptools/pctl/notify"
)

// TestAlarmIgnored attaches to a process with a thread that cannot be stopped, which only the alarm
// finds out. Meanwhile something in the host program ignores the alarm's signal, again and again,
// with a pause in between. If the signal is ignored between the return of the handler to its place
// and the delivery, that ends a ring. A loop without a pause, on a processor of its own, would end
// them all.
func TestAlarmIgnored(t *testing.T) {
	g := ptest.StartWith(t, &ptest.Options{Foreign: true}, ptest.BuildC(t, "vforkwait.c"))
	g.Ready()
	var over atomic.Bool
	var wg sync.WaitGroup
	ignored := [4]uint64{1} // struct sigaction: SIG_IGN
	wg.Go(func() {
		for !over.Load() {
			syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(ptrace.BellSignal), uintptr(unsafe.Pointer(&ignored)), 0, 8, 0, 0)
			time.Sleep(100 * time.Microsecond)
		}
	})
	for range ptest.Rounds(5, 20, 200) {
		c, err := Attach(bg, g.PID, &Options{Stop: []notify.Point{notify.Grab}})
		if err != nil {
			t.Fatal(err)
		}
		release(t, c, ModeRun)
	}
	over.Store(true)
	wg.Wait()
}
