package profile

import "testing"

// TestProgramNames: a process has the name that ps and perf show. The file is named, too, if its name differs, for
// instance for a program that is a link to another.
func TestProgramNames(t *testing.T) {
	for _, test := range []struct {
		file, comm string // no comm: the first thread was not met
		want       string
	}{
		{"/usr/bin/redis-check-rdb", "redis-server", "redis-server (redis-check-rdb, pid 7)"},
		{"/usr/bin/gofmt", "gofmt", "gofmt (pid 7)"},
		{"/usr/bin/python3.11", "python3", "python3.11 (pid 7)"},
		{"/usr/lib/chromium/chromium-headless-shell", "chromium-headle", "chromium-headless-shell (pid 7)"},
		{"/usr/bin/dash", "build.sh", "build.sh (dash, pid 7)"},
		{"/usr/bin/x", "a\x1b[2Jb", `a\x1b[2Jb (x, pid 7)`},
		{"/usr/bin/x", "", "x (pid 7)"},
		{"", "x", "x (pid 7)"},
		{"", "", "(pid 7)"},
	} {
		p := New()
		s := p.Space(7, test.file, nil)
		tid := 8
		if test.comm != "" {
			tid = 7
		}
		s.Add(s.Cell(p.Thread(7, tid, test.comm), 0), Values{Samples: 1})
		if got := subjectsOf(p); got != test.want {
			t.Errorf("file %q, name %q: %q, want %q", test.file, test.comm, got, test.want)
		}
	}
}
