package main

import (
	"context"
	"errors"
	"math"
	"strconv"
	"time"
)

// parts are the functions of the targets mix.c and gomix.go that burn CPU.
var parts = []string{"fifty", "thirty", "twenty"}

// shares is the row of how far a profile is from the truth. Its value is the largest difference,
// in percentage points, between the share of a function and the time that the kernel accounts to
// it.
func shares(ctx context.Context, l *lab, t *target) {
	window := l.window(3*time.Second, 10*time.Second)
	profilers := l.profilers(ctx, 999, window)
	cs := each(profilers, func(ctx context.Context, p profiler) float64 {
		before := readShares(t)
		stacks := p.do(ctx, strconv.Itoa(t.pid))
		return must(shareError(leaves(stacks), since(before, readShares(t))))
	})
	l.add(row{
		Unit: points, Note: "profiles of " + window.String(),
		Series: interleave(ctx, l.repeats, cs), Goals: []goal{{AtMost: 1}},
	})
}

func readShares(t *target) (all []float64) {
	for i := range parts {
		all = append(all, float64(t.page.Share(i)))
	}
	return all
}

func since(before, after []float64) []float64 {
	for i := range after {
		after[i] -= before[i]
	}
	return after
}

// leaves counts the samples of each part.
func leaves(stacks []stack) []float64 {
	n := make([]float64, len(parts))
	for _, s := range stacks {
		for i, part := range parts {
			if s.leaf() == part || s.leaf() == "main."+part {
				n[i] += s.count
			}
		}
	}
	return n
}

// shareError returns the largest difference of the shares in percentage points.
func shareError(seen, truth []float64) (float64, error) {
	var seenSum, truthSum, worst float64
	for i := range truth {
		seenSum += seen[i]
		truthSum += truth[i]
	}
	if seenSum == 0 || truthSum == 0 {
		return 0, errors.New("nothing of what is compared was seen")
	}
	for i := range truth {
		worst = max(worst, math.Abs(seen[i]/seenSum-truth[i]/truthSum))
	}
	return 100 * worst, nil
}
