package targets

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	r, err := ParseRule("comm=post*,user=0,exe=/usr/**")
	if err != nil || r != (Rule{Comm: "post*", User: "0", Exe: "/usr/**"}) || r.String() != "comm=post*,exe=/usr/**,user=0" {
		t.Errorf("%+v (%v), %v", r, r, err)
	}
	for text, want := range map[string]string{
		"":                           "form",
		"comm":                       "form",
		"comm=":                      "form",
		"name=x":                     "unknown key",
		"comm=a,comm=b":              "twice",
		"comm=a-name-of-more-than15": "15 bytes",
		"user=nobody-of-that-name":   "nobody-of-that-name",
	} {
		if _, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want one with %q", text, err, want)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		glob, text string
		want       bool
	}{
		{"/usr/*/x", "/usr/bin/x", true},
		{"/usr/*/x", "/usr/a/b/x", false},
		{"/usr/**/x", "/usr/a/b/x", true},
		{"a?c", "abc", true},
		{"a?c", "a/c", false},
		{"a.c", "abc", false},
		{"[x]", "[x]", true},
		{"a", "a\n", false},
		{"*", "a\nb", true},
	} {
		if got := pattern(c.glob).MatchString(c.text); got != c.want {
			t.Errorf("%q and %q: %v", c.glob, c.text, got)
		}
	}
}

// TestBounded: a pattern that would cost too much is refused. The error has its key, and only a part of the pattern. The
// most expensive pattern that is allowed costs little.
func TestBounded(t *testing.T) {
	for _, glob := range []string{strings.Repeat("**a", 100000), strings.Repeat("**a", mostWildcards+1), strings.Repeat("*?", mostWildcards+1), strings.Repeat("x", longestPattern+1)} {
		for _, r := range []Rule{{Exe: glob}, {Cgroup: glob}, {Comm: "*" + glob}} {
			var part *KeyError
			if err := r.Check(); !errors.As(err, &part) || part.Key != strings.Split(r.String(), "=")[0] || len(err.Error()) > 300 {
				t.Errorf("%.20q: %v", glob, err)
			}
		}
	}
	dear := strings.Repeat("?", longestPattern-3*mostWildcards) + strings.Repeat("**a", mostWildcards)
	text := strings.Repeat("a", longestPattern)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w, err := Rule{Exe: dear}.compile()
	if err != nil || !w.exe.MatchString(text) || w.exe.MatchString(text+"b") {
		t.Errorf("%v", err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d KiB", n>>10)
	}
}

func TestContainerOf(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	const pod = "01234567-89ab-cdef-0123-456789abcdef"
	for cgroup, want := range map[string][2]string{
		"/system.slice/cron.service":                    {},
		"/docker/" + id:                                 {id, ""},
		"/system.slice/docker-" + id + ".scope":         {id, ""},
		"/kubepods/burstable/pod" + pod + "/" + id:      {id, pod},
		"/user.slice/libpod-" + id + ".scope/container": {id, ""},
		"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(pod, "-", "_") + ".slice/cri-containerd-" + id + ".scope": {id, pod},
	} {
		if container, p := containerOf(cgroup); container != want[0] || p != want[1] {
			t.Errorf("%s: %q, %q", cgroup, container, p)
		}
	}
}

func TestCgroupOf(t *testing.T) {
	for text, want := range map[string]string{
		"0::/a/b\n": "/a/b",
		"12:cpu:/docker/x\n1:name=systemd:/\n0::/\n": "/docker/x",
		"0::/\n":    "/",
		"":          "",
		"rubbish\n": "",
	} {
		if got := cgroupOf(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
