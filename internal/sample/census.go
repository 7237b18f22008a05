package sample

import (
	"bytes"
	"math"
	"os"
	"strconv"
)

// census tells whether a thread may be running that this round has not met. The
// scheduler counts the threads of the whole machine that run or could; one of them
// is ours, which asks, and those that the round finds running are known. If nobody
// else is left, every thread that has not been looked at is blocked.
//
// A process whose processor time has not changed beyond that of its known threads
// says nothing by itself: what a thread uses is added only at the next scheduler
// tick, so one that has just woken would be taken for one that still sleeps.
type census struct {
	file   *os.File // /proc/loadavg; nil where it does not tell the truth
	others int      // that run and have not been met in this round
	buf    [64]byte
}

// begin counts anew.
func (c *census) begin() {
	c.others = math.MaxInt
	if c.file == nil {
		return
	}
	n, _ := c.file.ReadAt(c.buf[:], 0) // io.EOF, since the buffer is larger
	if running, ok := parseRunning(c.buf[:n]); ok {
		c.others = running - 1
	}
}

// met takes note of a thread that runs.
func (c *census) met() { c.others-- }

// complete reports that nobody runs who has not been met.
func (c *census) complete() bool { return c.others <= 0 }

func (c *census) close() {
	if c.file != nil {
		c.file.Close()
	}
}

// parseRunning returns the number of runnable threads in a line of /proc/loadavg,
// "0.20 0.18 0.12 1/80 11206". The reader itself runs, so 0 is not an answer.
func parseRunning(line []byte) (n int, ok bool) {
	for range 3 {
		_, line, ok = bytes.Cut(line, []byte{' '})
		if !ok {
			return 0, false
		}
	}
	digits, _, ok := bytes.Cut(line, []byte{'/'})
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(string(digits))
	return n, err == nil && n > 0
}
