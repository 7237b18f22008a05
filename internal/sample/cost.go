package sample

import (
	"fmt"
	"strings"
	"time"

	"ptools/internal/profile"
	"ptools/internal/unwind"
)

// Cost is what the sampling has cost the targets, and counts of what was done.
type Cost struct {
	Rounds int64 // rounds taken
	Late   int64 // of those, begun more than half a period late
	Missed int64 // ticks for which there was no round

	Samples int64
	Kept    int64 // samples of threads that had not moved
	Passive int64 // samples read from outside
	Stops   int64 // threads stopped
	Ticks   int64 // samples of running threads by timers, which stop no thread, or by looks, which stop that thread
	Cut     int64 // stacks whose outer callers were not copied at their moment
	Loss
	Children int64 // processes that were started and are not sampled
	Followed Followed
	Spared   int64 // samples of running threads that were not stopped because of the calls that they make (wary.go)
	Unread   int64 // threads that could not be read at the end, for want of descriptors
	Refused  int64 // threads that could not be stopped when they should have been
	Starved  int64 // those of Refused that were given no processor in the time that a round waits

	Programs32 []Program32 // 32-bit programs that were executed

	// The pause of a stop is the time from the request to the end of the visit, less
	// the time that the thread waited for a processor in between. It is no less than
	// the visit. The thread ran until the interrupt reached it, so it stood still for
	// less. TotalPause is the sum over threads.
	LongestPause time.Duration
	TotalPause   time.Duration

	Ends [unwind.Unsupported + 1]int64 // new stacks, by the reason of their end
}

// Loss is what was lost.
type Loss struct {
	Lost     int64         // records of timers for which there was no room
	LostTime time.Duration // processor time of ticks that were lost; where it was used is not known
}

// Program32 is a 32-bit program that a process has executed.
type Program32 struct {
	PID  int
	Path string
}

func (p Program32) String() string {
	return fmt.Sprintf("%d: %s is a 32-bit program: its calls are shown as [i386 ...], its functions have no names, its stacks are not unwound, and it is not stopped",
		p.PID, profile.Clean(p.Path))
}

// String returns the line that a user reads at the end.
func (c *Cost) String() string {
	line := fmt.Sprintf("%d rounds (%d late, %d missed), %d stops, longest pause %v, total pause %v",
		c.Rounds, c.Late, c.Missed, c.Stops, rounded(c.LongestPause), rounded(c.TotalPause))
	ticks := c.Ticks
	if c.Stops > 0 {
		ticks = 0 // those of the stops
	}
	return line + counted([]count{
		{ticks, ", %d samples by timers"},
		{c.Lost, " (%d lost)"},
	}) + c.lostTime() + counted([]count{
		{c.Spared, ", %d samples [not stopped] (a stop cuts what they transfer)"},
		{c.Starved, ", %d samples [not stopped] (their threads were given no processor)"},
		{c.Unread, ", %d threads could not be read (too many open files: raise ulimit -n)"},
		{c.Children, ", %d child processes not sampled (--follow samples them)"},
	}) + c.Followed.String()
}

// lostTime returns the part of the line about the processor time of lost ticks.
func (c *Cost) lostTime() string {
	if c.LostTime == 0 {
		return ""
	}
	return fmt.Sprintf(", %v of processor time [not sampled] (the sampler was stopped or had no processor, and the timers' buffers were full)", rounded(c.LostTime))
}

// String returns the part of the line about descendants; empty if none were to be
// followed.
func (f Followed) String() string {
	if f.Processes == 0 {
		return ""
	}
	return counted([]count{
		{f.Processes, ", %d processes followed"},
		{f.NoRoom, ", %d not followed (too many at a time)"},
		{f.Unlooked, ", %d seen by timers only (too many at a time)"},
		{f.Refused, ", %d seen by timers only (they may not be read)"},
		{f.Unsure, ", %d whose processor time is that of their samples"},
		{f.Stray, ", %d of which nothing but the end was read"},
		{f.Unread, ", %d files gone before their symbols were read"},
	})
}

// count is a number of the line, and its format.
type count struct {
	n      int64
	format string
}

// one replaces plurals after the number 1.
var one = strings.NewReplacer("%d samples", "%d sample", "%d threads", "%d thread", "%d child processes", "%d child process",
	"%d processes", "%d process", "%d files", "%d file")

// counted formats the counts that are not 0.
func counted(counts []count) (line string) {
	for _, c := range counts {
		switch {
		case c.n == 1:
			line += fmt.Sprintf(one.Replace(c.format), c.n)
		case c.n > 0:
			line += fmt.Sprintf(c.format, c.n)
		}
	}
	return line
}

// rounded rounds a duration for a reader.
func rounded(d time.Duration) time.Duration {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}

func (c *Cost) pause(d time.Duration) {
	c.TotalPause += d
	c.LongestPause = max(c.LongestPause, d)
}

// Add adds the cost of another sampling, except lists and the counts of descendants.
func (c *Cost) Add(d *Cost) {
	for _, n := range []struct{ sum, more *int64 }{
		{&c.Rounds, &d.Rounds}, {&c.Late, &d.Late}, {&c.Missed, &d.Missed}, {&c.Samples, &d.Samples}, {&c.Kept, &d.Kept},
		{&c.Passive, &d.Passive}, {&c.Stops, &d.Stops}, {&c.Ticks, &d.Ticks}, {&c.Cut, &d.Cut}, {&c.Lost, &d.Lost},
		{&c.Spared, &d.Spared}, {&c.Unread, &d.Unread}, {&c.Refused, &d.Refused}, {&c.Starved, &d.Starved},
	} {
		*n.sum += *n.more
	}
	c.LongestPause = max(c.LongestPause, d.LongestPause)
	c.TotalPause += d.TotalPause
	c.LostTime += d.LostTime
	for i, n := range d.Ends {
		c.Ends[i] += n
	}
}
