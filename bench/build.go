package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// tool builds a command of the module as `make build` does, once.
func (l *lab) tool(ctx context.Context, name string) string {
	return l.build(ctx, name, "env", "CGO_ENABLED=0", "go", "build", "-o", l.path(name), "./cmd/"+name)
}

// c builds one of the test targets, or of bench's own sources, with gcc.
func (l *lab) c(ctx context.Context, source string, flags ...string) string {
	file := l.source(source)
	exe := strings.TrimSuffix(source, ".c") + strings.Join(flags, "")
	argv := []string{"gcc", "-O2", "-g", "-Wall", "-Wextra", "-pthread", "-I", l.testdata("internal/ptest")}
	argv = append(append(argv, flags...), "-o", l.path(exe), file)
	return l.build(ctx, exe, argv...)
}

// gobuild builds a test target that is a Go program of one file.
func (l *lab) gobuild(ctx context.Context, source string) string {
	file := l.source(source)
	exe := strings.TrimSuffix(source, ".go")
	return l.build(ctx, exe, "go", "build", "-buildvcs=false", "-o", l.path(exe), file)
}

func (l *lab) testdata(room string) string { return filepath.Join(l.root, room, "testdata") }

// source finds a source among bench's own and the test targets.
func (l *lab) source(name string) string {
	for _, room := range []string{"bench", "internal/ptest", "internal/sample"} {
		file := filepath.Join(l.testdata(room), name)
		if exists(file) {
			return file
		}
	}
	panic(failure{fmt.Errorf("no source %s", name)})
}

// build runs a compiler, once for each name, and returns the path of what it makes.
func (l *lab) build(ctx context.Context, name string, argv ...string) string {
	if exe, ok := l.built[name]; ok {
		return exe
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		fail("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	l.built[name] = l.path(name)
	return l.built[name]
}
