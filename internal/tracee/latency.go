package tracee

import (
	"encoding/binary"
	"os"
	"time"

	"ptools/internal/ptrace"
)

// latencyDevice takes the longest time that waking a processor may take, in µs as a
// 32-bit number (Documentation/power/pm_qos_interface.rst). The kernel drops a
// request when its descriptor is closed, so it does not outlive us.
const latencyDevice = "/dev/cpu_dma_latency"

// The request is made when oftenHits hits come within oftenTime. It is withdrawn when
// the last so many hits were complete more than oftenTime ago.
const (
	oftenHits = 64
	oftenTime = 64 * time.Millisecond
)

// CPULatency keeps the idle processors of the machine from sleeping while breakpoints are
// hit often. At each hit two threads, ours and the one that hit, go to sleep in turn and wake
// the other. Most of that cost is the processor's way out of a sleeping state, and on a
// virtual machine the way through the hypervisor as well. A processor that may not sleep
// polls for work instead (drivers/cpuidle/poll_state.c) and has it at once. Unlike polling
// of ours, that keeps no thread from running. All methods must be called from the control
// goroutine.
type CPULatency struct {
	wanted bool
	device *os.File // nil: not needed yet
	on     bool
	hits   int       // since that time
	since  time.Time // when the last oftenHits were complete
	alarm  Alarm
	stop   func() // of the alarm
}

func (a *CPULatency) Init(bell *ptrace.Bell, wanted bool) {
	if a.wanted = wanted; wanted {
		a.alarm.Init(bell, oftenTime)
	}
}

// Hit is called at each hit.
func (a *CPULatency) Hit() {
	if a.hits++; a.hits < oftenHits || !a.wanted {
		return
	}
	now := time.Now()
	often := now.Sub(a.since) < oftenTime
	a.hits, a.since = 0, now
	if often && !a.on && a.open() && a.ask(0) {
		a.on, a.stop = true, a.alarm.start()
	}
}

// open opens the device the first time. It is then kept open, because opening wakes every
// processor, too. The device belongs to root; without it hits only take longer.
func (a *CPULatency) open() bool {
	if a.device == nil {
		f, err := os.OpenFile(latencyDevice, os.O_WRONLY, 0)
		if err != nil {
			a.wanted = false
			return false
		}
		a.device = f
	}
	return true
}

// check withdraws the request if hits have become rare. It is called when the alarm, or any
// other bell, has ended a wait.
func (a *CPULatency) check() {
	if a.on && time.Since(a.since) > oftenTime {
		a.on = false
		a.stop()
		a.ask(noLatency)
	}
}

// noLatency means no request (PM_QOS_CPU_LATENCY_DEFAULT_VALUE).
const noLatency = 2000 * 1000 * 1000

func (a *CPULatency) ask(micros uint32) bool {
	var b [4]byte
	binary.NativeEndian.PutUint32(b[:], micros)
	_, err := a.device.Write(b[:])
	return err == nil
}

// Close withdraws the request.
func (a *CPULatency) Close() {
	if a.on {
		a.on = false
		a.stop()
	}
	a.device.Close() // a nil device only returns an error
}
