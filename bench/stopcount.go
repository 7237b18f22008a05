package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The targets of other rows, as programs.
var (
	cProgram = program{nil, func(ctx context.Context, s *stage) error {
		return s.target(ctx, "sleepers.c", "-k", "short", "-t", "6")
	}}
	goProgram   = program{nil, func(ctx context.Context, s *stage) error { return s.target(ctx, "gosleepers.go", "-t", "6") }}
	cppProgram  = program{[]string{"g++"}, compiled("throws.cc", "g++", "-O2", "-g", "-pthread", "-o")}
	rustProgram = program{[]string{"rustc"}, compiled("sorts.rs", "rustc", "-O", "-g", "-o")}
	javaProgram = program{[]string{"java"}, startJava}
)

// target starts one of the test targets.
func (s *stage) target(ctx context.Context, source string, args ...string) error {
	build := func() (string, error) { return s.l.c(ctx, source) }
	if strings.HasSuffix(source, ".go") {
		build = func() (string, error) { return s.l.gobuild(ctx, source) }
	}
	exe, err := build()
	if err != nil {
		return err
	}
	return s.keep(s.l.start(ctx, append([]string{exe}, args...)...))
}

// compiled returns what starts a target that a compiler makes.
func compiled(source string, compiler ...string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		file, err := s.l.source(source)
		if err != nil {
			return err
		}
		exe, err := s.l.build(ctx, source+".exe", append(compiler, s.l.path(source+".exe"), file)...)
		if err != nil {
			return err
		}
		return s.keep(s.l.start(ctx, exe))
	}
}

// keep notes a target that has been started.
func (s *stage) keep(t *target, err error) error {
	if err != nil {
		return err
	}
	s.targets = append(s.targets, t)
	s.pids = append(s.pids, t.pid)
	return nil
}

func startJava(ctx context.Context, s *stage) error {
	file, err := s.l.source("Work.java")
	if err != nil {
		return err
	}
	_, err = s.announced(ctx, "java", file)
	return err
}

// stopsDone is the part of psample's closing line that counts its stops.
var stopsDone = regexp.MustCompile(`(\d+) stops`)

// stopCounts are the rows of how often psample stops programs at work where it may use timers.
func stopCounts(ctx context.Context, l *lab) ([]row, error) {
	var rows []row
	for _, x := range []struct {
		name string
		program
	}{{"C", cProgram}, {"C++", cppProgram}, {"Rust", rustProgram}, {"Go", goProgram}, {"Go HTTP server", goServer},
		{"python", python}, {"node", node}, {"java", javaProgram}} {
		r, err := l.stopCount(ctx, x.program)
		if err != nil {
			r.Note = err.Error()
		}
		r.Name = x.name
		rows = append(rows, r)
	}
	return rows, nil
}

func (l *lab) stopCount(ctx context.Context, p program) (r row, err error) {
	psample, err := l.tool(ctx, "psample")
	if err != nil {
		return r, err
	}
	s, err := p.on(ctx, l)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	window := l.window(2*time.Second, 5*time.Second)
	return row{Unit: count, Note: "in " + window.String(), Goals: []goal{{None: true}},
		Series: interleave(ctx, l.repeats, []contender{{toolTimers, ours, "", func(ctx context.Context) (float64, error) {
			got, err := finish(ctx, psample, "-F", "99", "-t", window.String(), "-O", "folded", "-o", "/dev/null", "-p", join(s.pids))
			if err != nil {
				return 0, err
			}
			m := stopsDone.FindSubmatch(got.err)
			if m == nil {
				return 0, fmt.Errorf("no count of stops in %q", got.err)
			}
			return strconv.ParseFloat(string(m[1]), 64)
		}}})}, nil
}
