package main

import (
	"context"
	"time"
)

// The targets of other rows, as programs.
var (
	cProgram    = program{nil, func(ctx context.Context, s *stage) { s.target(ctx, "sleepers.c", "-k", "short", "-t", "6") }}
	goProgram   = program{nil, func(ctx context.Context, s *stage) { s.target(ctx, "gosleepers.go", "-t", "6") }}
	cppProgram  = program{[]string{"g++"}, compiled("throws.cc", "g++", "-O2", "-g", "-pthread", "-o")}
	rustProgram = program{[]string{"rustc"}, compiled("sorts.rs", "rustc", "-O", "-g", "-o")}
	javaProgram = program{[]string{"java"}, startJava}
)

// target starts one of the test targets.
func (s *stage) target(ctx context.Context, source string, args ...string) {
	s.keep(built(source, nil, args...)(ctx, s.l))
}

// compiled returns a function that starts a target made by a compiler.
func compiled(source string, compiler ...string) func(context.Context, *stage) {
	return func(ctx context.Context, s *stage) {
		exe := s.l.build(ctx, source+".exe", append(compiler, s.l.path(source+".exe"), s.l.source(source))...)
		s.keep(s.l.start(ctx, exe))
	}
}

// keep notes a target that has been started.
func (s *stage) keep(t *target) {
	s.targets = append(s.targets, t)
	s.pids = append(s.pids, t.pid)
}

func startJava(ctx context.Context, s *stage) { s.announced(ctx, "java", s.l.source("Work.java")) }

// stopCounts are the rows of how often psample stops programs at work when it may use timers.
func stopCounts(ctx context.Context, l *lab) {
	for _, x := range []struct {
		name string
		program
	}{{"C", cProgram}, {"C++", cppProgram}, {"Rust", rustProgram}, {"Go", goProgram}, {"Go HTTP server", goServer},
		{"python", python}, {"node", node}, {"java", javaProgram}} {
		window := l.window(2*time.Second, 5*time.Second)
		r := row{Name: x.name, Unit: count, Note: "in " + window.String(), Goals: []goal{{None: true}}}
		if err := attempt(func() { r.Series = l.stopCount(ctx, x.program, window) }); err != nil {
			r.Note = err.Error()
		}
		l.add(r)
	}
}

func (l *lab) stopCount(ctx context.Context, p program, window time.Duration) (all []series) {
	psample := l.psample(ctx, 99)
	p.on(ctx, l, func(s *stage) {
		all = interleave(ctx, l.repeats, []contender{{toolTimers, ours, "", func(ctx context.Context) float64 {
			return closing(ctx, "stops", with(psample, join(s.pids), "-t", window.String()))
		}}})
	})
	return all
}
