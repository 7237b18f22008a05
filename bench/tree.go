package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// trees is the row of how long a command with many short processes takes under tools that follow them all. It has
// goals for a build, where compilers do the work, and none for a command that only starts processes.
func trees(prepare func(context.Context, *lab) (argv []string, before func()), judged bool) trial {
	return func(ctx context.Context, l *lab) {
		argv, before := prepare(ctx, l)
		timed := func(tool ...string) measure {
			return func(ctx context.Context) float64 {
				before()
				return must(finish(ctx, with(tool, argv...)...)).wall.Seconds()
			}
		}
		psample := l.tool(ctx, "psample")
		follow := func(more ...string) measure {
			return timed(with(with([]string{psample, "--follow", "-q", "-o", l.path("tree.pb.gz")}, more...), "--")...)
		}
		r := row{Unit: seconds, Series: interleave(ctx, l.repeats, []contender{
			{"no tool", none, "", timed()},
			{"perf record -g", peer, "perf", timed("perf", "record", "-q", "-g", "-F", "99", "-o", l.path("tree.data"), "--")},
			{"strace -f -e none", peer, "strace", timed("strace", "-f", "-e", "trace=none", "-o", l.path("tree.strace"), "--")},
			{toolTimers, ours, "", follow()},
			{toolStops, ours, "", follow("--timers", "off")},
		})}
		if judged {
			r.Goals = []goal{
				{Tool: toolTimers, Peers: []string{"no tool"}, AtMost: 1.03},
				{Tool: toolStops, Peers: []string{"no tool"}, AtMost: 1.15},
			}
		}
		l.add(r)
	}
}

// cProject makes a project of C files, and builds it. For each file that runs the driver of the compiler, the
// compiler, the assembler and two programs, and it makes one archive.
func cProject(files int) func(context.Context, *lab) ([]string, func()) {
	return func(ctx context.Context, l *lab) ([]string, func()) {
		need("make", "gcc")
		dir := l.path("project" + strconv.Itoa(files))
		check(os.MkdirAll(dir, 0o755))
		var objects []string
		for i := range files {
			objects = append(objects, fmt.Sprintf("out/f%d.o", i))
			check(os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.c", i)), []byte(cFile(i)), 0o644))
		}
		makefile := "all: out/all.a\n\nout/all.a: " + strings.Join(objects, " ") + "\n\tar rcs $@ $^\n\n" +
			"out/%.o: %.c\n\t@mkdir -p out\n\tgcc -O1 -c -o $@ $<; test -s $@\n"
		check(os.WriteFile(filepath.Join(dir, "Makefile"), []byte(makefile), 0o644))
		return []string{"make", "-s", "-j2", "-C", dir}, func() { check(os.RemoveAll(filepath.Join(dir, "out"))) }
	}
}

// cFile returns a source that takes a compiler some tens of milliseconds.
func cFile(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
	for i := range 4 {
		fmt.Fprintf(&b, `
int f%d_%d(int n, const char *s)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		char b[64];
		snprintf(b, sizeof b, "%%d %%s", i * %d, s);
		sum += (int)strlen(b) + atoi(b);
	}
	return sum;
}
`, n, i, i+1)
	}
	return b.String()
}

// starts returns a shell that starts programs which end at once.
func starts(programs int) func(context.Context, *lab) ([]string, func()) {
	return func(context.Context, *lab) ([]string, func()) {
		script := fmt.Sprintf("i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done", programs)
		return []string{"/bin/sh", "-c", script}, func() {}
	}
}
