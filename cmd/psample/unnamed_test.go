package main

import (
	"strings"
	"testing"

	"ptools/internal/profile"
)

// TestUnnamedHint: what helps depends on whether code without names is in a file, and else on who has compiled it.
func TestUnnamedHint(t *testing.T) {
	for _, c := range []struct{ program, object, want string }{
		{"java", "", "Compiler.perfmap"},
		{"java", "/usr/lib/libjvm.so", "most of them in libjvm.so: install its debug symbols"},
		{"php8.2", "", "opcache.jit_debug"},
		{"php8.2", "/usr/bin/php8.2", "most of them in php8.2: install its debug symbols"},
		{"ruby3.3", "", "--yjit-perf=map"},
		{"beam.smp", "", "+JPperf true"},
		{"pypy3.9", "", "PyPy writes no names"},
		{"luajit", "", "most of them in memory that is in no file: if a compiler at run time made them, have it write /tmp/perf-7.map"},
	} {
		u := &profile.Unnamed{PID: 7, Program: c.program, Object: c.object, CPU: 100, Unnamed: 90}
		if got := unnamedHint(u, 100); !strings.HasPrefix(got, "90 % of the processor time") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %q: %s", c.program, c.object, got)
		}
		u.Unnamed = 0
		if got := unnamedHint(u, 100); got != "" {
			t.Errorf("%s with names: %s", c.program, got)
		}
	}
}
