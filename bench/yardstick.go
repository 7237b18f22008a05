package main

import (
	"context"
	"os"
	"time"
)

// yardstick is the row of what the machine's system calls cost at this hour, which absolute times
// have to be read with: a read of a thread's schedstat, of which a sampler makes many.
func yardstick(ctx context.Context, l *lab) {
	f := must(os.Open("/proc/self/schedstat"))
	defer f.Close()
	cs := []contender{{"no tool", none, "", func(context.Context) float64 {
		const reads = 20000
		var buf [128]byte
		t0 := time.Now()
		for range reads {
			if n, err := f.ReadAt(buf[:], 0); n == 0 {
				check(err)
			}
		}
		return time.Since(t0).Seconds() / reads
	}}}
	l.add(row{Unit: seconds, Series: interleave(ctx, l.repeats, cs)})
}
