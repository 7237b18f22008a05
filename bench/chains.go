package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// chain describes a whole stack of a target.
type chain struct {
	source string
	inner  string   // the only caller of the parts
	outer  []string // the outermost function, one of these
}

var (
	chainC  = chain{"mix.c", "mix_round", []string{"_start"}}
	chainGo = chain{"gomix.go", "main.round", []string{"runtime.goexit", "runtime.goexit.abi0"}}
)

// chains is the row of how many of the stacks that begin in a part of the target are whole: they
// have its caller, and reach the program's beginning.
func chains(c chain, flags ...string) trial {
	return on(built(c.source, flags), func(ctx context.Context, l *lab, t *target) {
		profilers := l.profilers(ctx, 999, l.window(700*time.Millisecond, 3*time.Second))
		cs := each(profilers, func(ctx context.Context, p profiler) float64 { return c.whole(p.do(ctx, strconv.Itoa(t.pid))) })
		l.add(row{Unit: percent, Series: interleave(ctx, l.repeats, cs), Goals: []goal{{AtLeast: 99.5}}})
	})
}

// whole returns the percentage of stacks that begin in a part of the target and are whole.
func (c chain) whole(stacks []stack) float64 {
	var all, whole float64
	for _, s := range stacks {
		if !slices.Contains(parts, strings.TrimPrefix(s.leaf(), "main.")) {
			continue
		}
		all += s.count
		n := len(s.functions)
		if n > 2 && s.functions[n-2] == c.inner && slices.Contains(c.outer, s.functions[0]) {
			whole += s.count
		}
	}
	if all == 0 {
		return 0
	}
	return 100 * whole / all
}
