package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Go's collector lets the heap grow to twice what is in use, and that is the files of strangers. It may grow by a half here, and
// collects more often from usualMemory on, unless more is in use.
const (
	heapGrowth  = 50        // percent
	usualMemory = 160 << 20 // the files of strangers have 96 MB of it; the unit allows 384 MB without a penalty
)

// boundMemory sets how much memory the collector lets us have, until ctx is done. Who has set GOGC or GOMEMLIMIT has decided.
func boundMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(heapGrowth)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for every := time.NewTicker(time.Second); ; {
		metrics.Read(live)
		used := int64(live[0].Value.Uint64())
		debug.SetMemoryLimit(max(usualMemory, used+used/8))
		select {
		case <-every.C:
		case <-ctx.Done():
			every.Stop()
			return
		}
	}
}
