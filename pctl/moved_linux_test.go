package pctl_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/pctl"
)

// TestMovedText: text that was moved into other memory has the names, tables and breakpoints of its file, and other code
// in its place has not.
func TestMovedText(t *testing.T) {
	const huge = "-Wl,-z,max-page-size=2097152,-z,common-page-size=2097152,-z,separate-code"
	for _, test := range []struct {
		flags []string
		args  string
		named bool // the code of leaf is that of the file
	}{
		{[]string{"-no-pie", huge}, "-k0", true},
		{[]string{"-no-pie", huge}, "-k1", true},
		{[]string{"-no-pie", huge}, "-k2", true},
		{[]string{"-no-pie", huge}, "-k3", false},
		{[]string{"-pie", huge}, "-k0", true},
		{[]string{"-no-pie", "-Wl,-z,noseparate-code"}, "-k0", true}, // all of the first segment
		{[]string{"-no-pie", "-Wl,-z,noseparate-code"}, "-k2", true},
		{[]string{"-pie"}, "-f" + filepath.Join(t.TempDir(), "text"), true},
		{nil, "-ol -k0", true},
		{nil, "-oi -k0", true},
	} {
		argv := append([]string{ptest.BuildC(t, "moved.c", append(test.flags, "-O1")...)}, strings.Fields(test.args)...)
		g := ptest.StartWith(t, &ptest.Options{Foreign: true}, argv...)
		g.Ready()
		s := pctl.NewSession(nil)
		defer s.Close()
		p, err := s.Grab(context.Background(), g.PID, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		reached := make(chan []pctl.Frame, 1)
		b, err := p.Break(context.Background(), pctl.Where{Symbol: "branch"}, func(h *pctl.Hit) {
			frames, err := h.Thread().Calls()
			if err != nil {
				t.Errorf("%v: %v", test, err)
			}
			select {
			case reached <- frames:
			default:
			}
		})
		if err != nil || !b.Found() {
			t.Errorf("%v: branch: %v", test, err)
			continue
		}
		var names []string
		for _, f := range <-reached {
			names = append(names, f.Func)
		}
		if want := []string{"branch", "main"}; len(names) < 4 || !slices.Equal(names[:2], want) || slices.Contains(names, "") {
			t.Errorf("%v: %q, want %q", test, names, want)
		}
		if b, err := p.Break(context.Background(), pctl.Where{Symbol: "leaf"}, nil); err != nil || b.Found() != test.named {
			t.Errorf("%v: a breakpoint at leaf: %v, found %v", test, err, b.Found())
		}
	}
}
