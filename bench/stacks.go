package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// stack is one stack of a profile, outermost function first, and how often it was seen.
type stack struct {
	functions []string
	count     float64
}

func (s *stack) leaf() string {
	if len(s.functions) == 0 {
		return ""
	}
	return s.functions[len(s.functions)-1]
}

// profiler samples for a while and returns stacks.
type profiler = competitor[func(ctx context.Context, pid string) []stack]

func (l *lab) profilers(ctx context.Context, rate int, window time.Duration) []profiler {
	psample := l.tool(ctx, "psample")
	perf := func(mode string) func(context.Context, string) []stack {
		return func(ctx context.Context, pid string) []stack { return l.perf(ctx, mode, pid, rate, window) }
	}
	return []profiler{
		{"perf fp", peer, "perf", perf("fp")},
		{"perf dwarf", peer, "perf", perf("dwarf")},
		{"psample", ours, "", func(ctx context.Context, pid string) []stack {
			out := l.path("psample.folded")
			must(finish(ctx, psample, "-q", "-F", strconv.Itoa(rate), "--value", "samples", "-t", window.String(), "-o", out, "-p", pid))
			return parseFolded(must(os.ReadFile(out)))
		}},
	}
}

// perf records with perf and returns the stacks. Time in the kernel has no stack of its own.
func (l *lab) perf(ctx context.Context, mode, pid string, rate int, window time.Duration) []stack {
	data := l.path("perf.data")
	must(finish(ctx, "perf", "record", "-q", "-e", "cpu-clock:u", "-F", strconv.Itoa(rate),
		"--call-graph", mode, "-o", data, "-p", pid, "--", "sleep", fmt.Sprint(window.Seconds())))
	return parsePerfScript(must(finish(ctx, "perf", "script", "-i", data, "-F", "ip,sym", "--no-inline")).out)
}

// parseFolded reads lines of functions with ; between them, outermost first, and a count.
func parseFolded(b []byte) (stacks []stack) {
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			continue
		}
		n, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			continue
		}
		stacks = append(stacks, stack{strings.Split(line[:i], ";"), n})
	}
	return stacks
}

// parsePerfScript reads what `perf script -F ip,sym` prints: a line of address and name for each
// frame, innermost first, and an empty line after each sample.
func parsePerfScript(b []byte) (stacks []stack) {
	for sample := range bytes.SplitSeq(b, []byte("\n\n")) {
		s := stack{count: 1}
		for line := range strings.Lines(string(sample)) {
			if _, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
				s.functions = append([]string{strings.TrimSpace(name)}, s.functions...)
			}
		}
		if len(s.functions) > 0 {
			stacks = append(stacks, s)
		}
	}
	return stacks
}
