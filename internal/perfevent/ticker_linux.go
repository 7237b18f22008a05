package perfevent

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ptools/internal/need"
)

// A Ticker samples the threads of wanted processes on every processor. Each processor has a perf
// event that fires once a period. Its interrupt copies the registers and the top of the stack of
// the running thread into memory that we share with the kernel. A BPF program (filter_linux.go)
// makes the kernel drop the samples of all other processes before anything is copied. No thread is
// stopped, nothing is done when threads are switched, and nothing has to be done for new threads.
//
// The same memory has records of forks, ends, execs and new names, of all processes of the
// machine. A Ticker belongs to one goroutine.
type Ticker struct {
	period time.Duration
	follow Follow
	filter *filter
	rings  []*ring
	turn   int          // the ring that Redraw begins with
	wanted map[int]bool // processes
	record Record
	stack  []byte
}

// OpenTicker starts a Ticker on all processors that are online. No process is wanted yet.
//
// What it takes is [need.Timers]. The error says what of it is missing. If that is a right, it is an [fs.ErrPermission].
func OpenTicker(o TickerOptions) (*Ticker, error) {
	if o.Period <= 0 || o.Stack < 0 || o.Stack > MaxStack {
		return nil, fmt.Errorf("ticker of period %v and stacks of %d bytes: %w", o.Period, o.Stack, unix.EINVAL)
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return nil, err
	}
	c := &Ticker{period: o.Period, follow: o.Follow, stack: make([]byte, MaxStack+8), wanted: make(map[int]bool)}
	if err := c.open(cpus, &o); err != nil {
		c.Close()
		return nil, need.Timers.Explain(err)
	}
	return c, nil
}

func (c *Ticker) open(cpus []int, o *TickerOptions) (err error) {
	attr := tickerAttr(o)
	size := ringSize(len(cpus))
	for _, cpu := range cpus {
		attr.Sample = uint64(drawPeriod(o.Period, rand.Int64N))
		fd, err := unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == unix.ENODEV {
			continue // it has gone offline
		}
		if err != nil {
			return fmt.Errorf("perf event of processor %d: %w", cpu, err)
		}
		r, err := newRing(fd, cpu, size)
		for ; err == unix.EPERM && size > leastRing; r, err = newRing(fd, cpu, size) {
			size /= 2 // it was more than this user may lock (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK)
		}
		if err != nil {
			unix.Close(fd)
			return fmt.Errorf("buffer of processor %d: %w", cpu, err)
		}
		c.rings = append(c.rings, r)
	}
	if c.filter, err = newFilter(slices.Max(cpus) + 1); err != nil {
		return fmt.Errorf("filter of perf events: %w", err)
	}
	if o.Follow == FollowAuto {
		if follower, err := newFollower(c.filter.table, c.filter.ours); err == nil {
			c.filter.follower = follower
		} else {
			c.follow = FollowRecords
		}
	}
	for _, r := range c.rings {
		if r.follow = o.Follow != FollowNone; !r.follow {
			r.wanted = c.wanted
		}
		if err := r.attach(c.filter.program); err != nil {
			return fmt.Errorf("filter of perf events: %w", err)
		}
	}
	return nil
}

// tickerSample selects the parts of a sample.
const tickerSample = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN |
	unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER

// tickerAttr describes the event of one processor.
func tickerAttr(o *TickerOptions) *unix.PerfEventAttr {
	flags := uint64(unix.PerfBitDisabled | unix.PerfBitWatermark | unix.PerfBitComm | unix.PerfBitCommExec |
		unix.PerfBitTask | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitMmap | unix.PerfBitMmap2)
	if !o.Kernel {
		flags |= unix.PerfBitExcludeCallchainKernel
	}
	return &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:              uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type:       tickerSample,
		Sample_regs_user:  tickerRegs,
		Sample_stack_user: uint32(max(o.Stack, 8) &^ 7),
		Bits:              flags,
		Clockid:           unix.CLOCK_MONOTONIC,
		Wakeup:            1 << 31, // no reader waits
	}
}

// The buffer of a processor holds 64 samples of the largest size, which is 160 ms at 400 Hz. The thread that reads them
// may be given no processor for that long, or may read the symbols of a file that was just mapped. On machines with many
// processors the buffer is smaller, but never less than four samples.
const (
	mostRing  = 4 << 20
	leastRing = 256 << 10
	allRings  = 64 << 20
)

// ringSize returns how large the buffer of each of n processors is.
func ringSize(n int) int {
	return min(max(1<<(bits.Len(uint(allRings/max(n, 1)))-1), leastRing), mostRing)
}

// onlineCPUs returns the numbers of the processors that are online.
func onlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return parseCPUs(strings.TrimSpace(string(text)))
}

// parseCPUs reads a list like 0-3,8 (cpuset(7), List format).
func parseCPUs(list string) ([]int, error) {
	const most = 1 << 16
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if err == nil && ranged {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to < from || to > most || len(cpus) > most {
			return nil, fmt.Errorf("list of processors %q: %w", list, unix.EINVAL)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}

// Want makes the threads of process pid sampled from now on.
//
// Errors: ESRCH, and an [errors.ErrUnsupported] for a process whose number in the kernel is not
// known: a process of a PID namespace below ours, where ours is not the first one.
func (c *Ticker) Want(pid int) error {
	err := c.filter.want(pid)
	if err == nil {
		c.wanted[pid] = true
	}
	return err
}

// Drop ends the sampling of process pid.
func (c *Ticker) Drop(pid int) {
	c.filter.drop(pid)
	delete(c.wanted, pid)
}

// Period returns the mean time between two samples on one processor.
func (c *Ticker) Period() time.Duration { return c.period }

// Follows says how children of wanted processes are followed.
func (c *Ticker) Follows() Follow { return c.follow }

// Ends calls f for each thread of a followed process that has ended since the last call. It calls f for none unless
// Follows is FollowAuto.
func (c *Ticker) Ends(f func(*End)) {
	if follower := c.filter.follower; follower != nil {
		follower.each(f)
	}
}

// NoRoom returns how many children could not be followed because too many processes were wanted at that moment.
func (c *Ticker) NoRoom() int64 {
	if follower := c.filter.follower; follower != nil {
		return follower.word(wordNoRoom)
	}
	return 0
}

// settled is the time after which a record is certain to be in its buffer. Several processors write births and what
// follows from them. So records of children are read in their order only if all buffers have been written up to the
// same moment.
const settled = 3 * time.Millisecond

// Read calls f for all records that there are, in the order of their times. It returns how many samples
// and other records, of any process, were lost since the last Read. With Follow it leaves the records of the last
// three milliseconds to the next call.
func (c *Ticker) Read(f func(*Record)) (lost int64) {
	until := uint64(math.MaxUint64)
	if c.follow != FollowNone {
		until = uint64(Now() - settled)
	}
	return c.read(f, until)
}

// ReadAll is Read of all records, those of the last three milliseconds included.
func (c *Ticker) ReadAll(f func(*Record)) (lost int64) { return c.read(f, math.MaxUint64) }

func (c *Ticker) read(f func(*Record), until uint64) (lost int64) {
	for _, r := range c.rings {
		r.begin()
	}
	for {
		var first *ring
		for _, r := range c.rings {
			if r.more() && r.time <= until && (first == nil || r.time < first.time) {
				first = r
			}
		}
		if first == nil {
			break
		}
		c.record.Stack = c.stack
		if first.take(&c.record) {
			f(&c.record)
		}
	}
	for _, r := range c.rings {
		lost += r.lost
		r.lost = 0
	}
	return lost
}

// A processor keeps the period that was drawn for it for redrawAfter periods. Drawn more often, too many periods would be
// cut short. mostRedrawn bounds how many processors get a new one at the same time: a change interrupts the processor.
const (
	redrawAfter = 8
	mostRedrawn = 8
)

// Redraw gives a new period to each processor that has had its present one for a while. It is called now and then. A
// program that repeats itself would otherwise be sampled always at the same places, or never. So it does not matter
// whether a processor has taken samples. random returns a number below its argument.
func (c *Ticker) Redraw(random func(int64) int64) {
	now, redrawn := Now(), 0
	for i := range c.rings {
		r := c.rings[(c.turn+i)%len(c.rings)]
		if now-r.drawn < redrawAfter*c.period {
			continue
		}
		if redrawn == mostRedrawn {
			c.turn = (c.turn + i) % len(c.rings)
			return
		}
		redrawn++
		r.drawn = now
		r.setPeriod(drawPeriod(c.period, random))
	}
}

// drawPeriod draws a period around the mean that makes one tick a period of time: a fifth more or less, and 4 % shorter
// for the period that the next change will cut short.
func drawPeriod(period time.Duration, random func(int64) int64) time.Duration {
	spread := int64(period) * 2 / 5
	return period*96/100 - time.Duration(spread/2-random(max(spread, 1)))
}

// Close ends the sampling.
func (c *Ticker) Close() (err error) {
	for _, r := range c.rings {
		err = errors.Join(err, r.close())
	}
	c.rings = nil
	if c.filter != nil {
		c.filter.close()
	}
	return err
}

// Pause stops all samples and records until Resume. Without a pause each processor is interrupted once a period, whether a
// process is wanted or not. A new Ticker is not paused.
func (c *Ticker) Pause() error { return c.each(unix.PERF_EVENT_IOC_DISABLE) }

// Resume ends a Pause.
func (c *Ticker) Resume() error { return c.each(unix.PERF_EVENT_IOC_ENABLE) }

func (c *Ticker) each(request uint) (err error) {
	for _, r := range c.rings {
		err = errors.Join(err, os.NewSyscallError("ioctl", unix.IoctlSetInt(r.fd, request, 0)))
	}
	return err
}

// SetPeriod changes the time between two samples on one processor.
func (c *Ticker) SetPeriod(period time.Duration) {
	c.period = period
	for _, r := range c.rings {
		r.drawn = Now()
		r.setPeriod(drawPeriod(period, rand.Int64N))
	}
}
