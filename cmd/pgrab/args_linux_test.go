package main

import (
	"regexp"
	"runtime"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestArgs: hits have the arguments of their functions, as lines and as JSON; and where that makes no sense it is said.
func TestArgs(t *testing.T) {
	ptest.Need(t, "cc")
	if runtime.GOARCH != "amd64" {
		t.Skip("arguments are known on x86-64")
	}
	target := ptest.BuildC(t, "testdata/twofiles.c", "-g", "-O0")
	for _, tt := range []struct {
		flags, stdout, stderr string
		status                int
	}{
		{"-b first -b second", `(?m)^pid \d+: tid \d+ hit first\(n=1\) in twofiles.* \(hit 1\)\npid \d+: tid \d+ hit second\(n=2\) in twofiles.* \(hit 1\)\npid \d+: tid \d+ hit first\(n=4\) in`, `^$`, 0},
		{"-q -w -b main", `(?m)^pid \d+: tid \d+ hit main\(argc=1, argv=0x[0-9a-f]+\) in twofiles.* \(hit 1\)\n    #0 `, `^$`, 0},
		{"--json -b a.out`*irst", `(?m)"event":"hit",.*"symbol":"first",.*"hits":1,"args":"n=1"}$`, `^$`, 0},
		{"-b first+4", `^$`, `^pgrab: --args: at first\+0x4 no function begins`, 2},
		{"-b util.c:11", `^$`, `^pgrab: --args: at util.c:11 no function begins`, 2},
		{"-q -b first", `^$`, `^pgrab: --args are shown with each hit, and with -q no hit is shown`, 2},
	} {
		r := pgrab(t, strings.NewReader(""), append(append([]string{"-s", "none", "--args"}, strings.Fields(tt.flags)...), "--", target)...)
		if r.status != tt.status || !regexp.MustCompile(tt.stdout).MatchString(r.stdout) || !regexp.MustCompile(tt.stderr).MatchString(r.stderr) {
			t.Errorf("%s: exit status %d, stdout:\n%s\nstderr:\n%s", tt.flags, r.status, r.stdout, r.stderr)
		}
	}
}
