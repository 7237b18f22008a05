package perfevent

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// How often a function of ours is called to find out what a probe costs. The median of the rounds counts.
const (
	costRounds = 9
	costCalls  = 32
)

// MeasureCalls measures what a hit costs on this machine, by probes in a function of this process that is called some hundred times. It takes
// some 30 ms. which says what the programs do, as for [OpenCalls]. offset returns where an address of ours is in the file of the program.
func MeasureCalls(which CallReports, offset func(addr uint64) (uint64, error)) (cost CallCost, err error) {
	c, err := OpenCalls(os.Getpid(), 1, 2, which, CallGroups{}, Alone)
	if err != nil {
		return cost, err
	}
	defer c.Close()
	const path = "/proc/self/exe"
	off, err := offset(spotAddr())
	if err != nil {
		return cost, err
	}
	entry := CallPlace{Off: off, Addr: spotAddr(), Cond: NoCond}
	end := CallPlace{Off: off + spotEnd, Addr: spotAddr() + spotEnd, Cond: NoCond, Stepped: true}
	c.Switch(true)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	bare := timeSpots()
	for _, err := range c.Attach(path, true, []CallPlace{entry}) {
		return cost, err
	}
	begun := timeSpots()
	for _, err := range c.Attach(path, false, []CallPlace{end}) {
		return cost, err
	}
	whole := timeSpots()
	if h := c.Hits(0); h.Emulated == 0 || h.Stepped == 0 {
		return cost, fmt.Errorf("probes of our own were not hit: %+v", h)
	}
	return CallCost{Emulated: max(begun-bare, 0), Stepped: max(whole-begun, 0)}, nil
}

// timeSpots returns what a call of the function takes of the processor.
func timeSpots() time.Duration {
	var times []time.Duration
	for range costRounds {
		from := threadTime()
		callSpot(costCalls)
		times = append(times, (threadTime()-from)/costCalls)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// threadTime returns how long this thread has been on a processor.
func threadTime() time.Duration {
	var ts unix.Timespec
	unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) // it cannot fail
	return time.Duration(ts.Nano())
}
