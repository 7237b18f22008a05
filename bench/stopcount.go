package main

import (
	"context"
	"errors"
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
	return s.keep(built(source, nil, args...)(ctx, s.l))
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
	psample, err := l.psample(ctx, 99)
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
			return closing(ctx, "stops", with(psample, join(s.pids), "-t", window.String()))
		}}})}, nil
}
