package main

import (
	"bufio"
	"fmt"
	"math"
	"slices"
	"strings"

	"ptools/internal/perfevent"
)

// barWidth is how wide the class with the most calls is drawn.
const barWidth = 40

// fewEmpty is how many classes without a call are drawn one by one. More of them in a row are one line.
const fewEmpty = 2

// writeHistogram prints how many calls of a row took how long, if its calls are timed and any has ended: a line for each class, from the
// first one with a call to the last.
func writeHistogram(w *bufio.Writer, r *row) {
	if !r.timed() || r.stats.Returned == 0 {
		return
	}
	classes := r.stats.Buckets[:]
	most := slices.Max(classes)
	for i, last := 0, -1; i < len(classes); i++ {
		if classes[i] == 0 {
			continue
		}
		if last >= 0 && i-last-1 > fewEmpty {
			fmt.Fprintf(w, "%13s\n", "...")
			last = i - 1
		}
		for empty := last + 1; last >= 0 && empty < i; empty++ {
			writeClass(w, empty, 0, most)
		}
		writeClass(w, i, classes[i], most)
		last = i
	}
}

// writeClass prints a line of a histogram. Its bar is rounded up: a class with a call has one.
func writeClass(w *bufio.Writer, i int, n, most uint64) {
	bar := strings.Repeat("@", int(math.Ceil(float64(n)/float64(most)*barWidth)))
	end := ""
	if i+1 < perfevent.CallBuckets {
		end = duration(perfevent.BucketStart(i + 1))
	}
	fmt.Fprintf(w, "  %8s .. %-8s %10d |%-*s|\n", duration(perfevent.BucketStart(i)), end, n, barWidth, bar)
}
