package main

import (
	"regexp"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestPattern: the hits and stacks of a pattern name the functions, and so do the tables, also those of a tree.
func TestPattern(t *testing.T) {
	ptest.Need(t, "cc")
	target := ptest.BuildC(t, "thousand.c", "-fno-omit-frame-pointer")
	for _, tt := range []struct {
		flags string
		want  []string
		none  string
	}{
		{"-b many_00*", []string{
			`(?m)^pid \d+: tid \d+ hit many_001\+0 in thousand.* \(hit 1\)$`,
			`(?m)^ +pid  hits +address  breakpoint\n +\d+ +6  0x[0-9a-f]+  many_003 in thousand.*\n +\d+ +6  .* many_007 .*\n(.*\n){4} +\d+ +2  0x[0-9a-f]+  many_009 in thousand.*\n +\d+ +0 +-  many_00\*: 3 functions not hit\n$`,
		}, "hit many_00[048*]"},
		{"-w -b a.out`many_00?", []string{`(?m)^pid .* hit many_002\+0 in .*\n    #0   0x[0-9a-f]+  many_002\+0x0 in thousand`}, "many_00[?][+]"},
		{"--json -q -b many_01*", []string{
			`(?m)"event":"breakpoint","symbol":"many_011","addr":"0x[0-9a-f]+","object":"/.*thousand.*","hits":6,"where":"many_01\*"}$`,
			`(?m)"event":"breakpoint","hits":0,"where":"many_01\*","not_hit":2}$`,
		}, `"many_012"`},
		{"--json -b many_01*", []string{`"event":"hit","tid":\d+,"symbol":"many_011","addr":"0x`}, ""},
		{"--follow -q -b many_00*", []string{`(?m)^ +all +6 +-  many_003 in thousand.*\n +all +6 .*\n(.*\n)+ +all +0 +-  many_00\*: 3 functions not hit\n$`}, ""},
	} {
		r := pgrab(t, strings.NewReader(""), append(append([]string{"-s", "none"}, strings.Fields(tt.flags)...), "--", target)...)
		if r.status != 0 || r.stderr != "" {
			t.Errorf("%s: exit status %d, %s", tt.flags, r.status, r.stderr)
		}
		for _, want := range tt.want {
			if !regexp.MustCompile(want).MatchString(r.stdout) {
				t.Errorf("%s: without %s:\n%.3000s", tt.flags, want, r.stdout)
			}
		}
		if tt.none != "" && regexp.MustCompile(tt.none).MatchString(r.stdout) {
			t.Errorf("%s: with %s:\n%.3000s", tt.flags, tt.none, r.stdout)
		}
	}
}
