package main

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// chain is what a whole stack of a target looks like.
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
// have its caller, and go on to the program's beginning.
func chains(c chain, flag string) func(context.Context, *lab) ([]row, error) {
	return func(ctx context.Context, l *lab) ([]row, error) {
		exe, err := c.build(ctx, l, flag)
		if err != nil {
			return nil, err
		}
		t, err := l.start(ctx, exe)
		if err != nil {
			return nil, err
		}
		defer t.stop()
		profilers, err := l.profilers(ctx, 999, l.window(700*time.Millisecond, 3*time.Second))
		if err != nil {
			return nil, err
		}
		var cs []contender
		for _, p := range profilers {
			cs = append(cs, contender{p.tool, p.role, p.program, func(ctx context.Context) (float64, error) {
				stacks, err := p.profile(ctx, strconv.Itoa(t.pid))
				return c.whole(stacks), err
			}})
		}
		return []row{{Unit: percent, Series: interleave(ctx, l.repeats, cs), Goals: []goal{{AtLeast: 99.5}}}}, nil
	}
}

func (c chain) build(ctx context.Context, l *lab, flag string) (string, error) {
	if flag == "" {
		return l.gobuild(ctx, c.source)
	}
	return l.c(ctx, c.source, flag)
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
