package main

import (
	"regexp"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestLine: breakpoints at lines of source files: what is said of several places and files, and of lines without code.
func TestLine(t *testing.T) {
	ptest.Need(t, "cc")
	target := ptest.BuildC(t, "testdata/twofiles.c", "-g", "-O0")
	for _, tt := range []struct {
		flags, stdout, stderr string
		status                int
	}{
		{"-b util.c:11",
			`(?m)^pid \d+: tid \d+ hit second\+\d+ in twofiles.* \(hit 2\)\n(.*\n)+ +\d+ +3  0x[0-9a-f]+  util.c:11: second\+0x[0-9a-f]+ in twofiles.*\n +\d+ +2  0x[0-9a-f]+  util.c:11: first\+0x[0-9a-f]+ in twofiles.*\n$`,
			`^pgrab: \d+: util.c:11 has 2 places, in 2 files of that name: .*/?a/util.c, .*/?b/util.c\n$`, 0},
		{"-q -b a/util.c:11", `^ +pid +hits +address +breakpoint\n +\d+ +2  0x[0-9a-f]+  a/util.c:11: first\+0x.*\n$`, `^$`, 0},
		{"--json -q -b b/util.c:11", `"event":"breakpoint","symbol":"second","offset":7,"addr":"0x[0-9a-f]+","object":"/.*twofiles.*","hits":3,"where":"b/util.c:11"}\n$`, `^$`, 0},
		{"-q -b util.c:13 -b first", `first\n$`, `^pgrab: \d+: breakpoint util.c:13 was never set: there is no code of util.c:13 or of a line behind it\n$`, 1},
		{"-q -b twofiles.c:53 -b first", `first\n$`, `^pgrab: \d+: breakpoint twofiles.c:53 was never set: there is no code of twofiles.c:53; the next line with code is 55\n$`, 1},
		{"-q -b nofile.c:5 -b first", `first\n$`, `^pgrab: \d+: breakpoint nofile.c:5 was never set: no debug information in what process \d+ has mapped names a file nofile.c\n$`, 1},
		{"-q -b second+2 -b first", `first\n$`, `^pgrab: break second\+0x2 \d+: it is inside an instruction: a trap there would change what the process does \(one begins at second\+0x1, the next at \+0x4\)\n$`, 1},
		{"--follow -q -b util.c:11", `(?m)^ +all +3 +-  util.c:11: second.*\n +all +2 +-  util.c:11: first.*\n`, `^$`, 0},
	} {
		r := pgrab(t, strings.NewReader(""), append(append([]string{"-s", "none"}, strings.Fields(tt.flags)...), "--", target)...)
		if r.status != tt.status || !regexp.MustCompile(tt.stdout).MatchString(r.stdout) || !regexp.MustCompile(tt.stderr).MatchString(r.stderr) {
			t.Errorf("%s: exit status %d, stdout:\n%s\nstderr:\n%s", tt.flags, r.status, r.stdout, r.stderr)
		}
	}
}
