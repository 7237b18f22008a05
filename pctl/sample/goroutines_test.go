package sample_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	gprofile "github.com/google/pprof/profile"

	"ptools/internal/ptest"
	"ptools/pctl"
	"ptools/pctl/sample"
)

// withoutInlined removes the addresses of functions that are inlined, for which a Go program makes up some. Then all that follow differ, too.
func withoutInlined(group string) string {
	if !regexp.MustCompile(`inlined|\tsync\.|\tos\.|\tsyscall\.`).MatchString(group) {
		return group
	}
	return regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(regexp.MustCompile(`@( 0x[0-9a-f]+)+`).ReplaceAllString(group, "@"), "")
}

// TestGoroutines: a Go program's goroutines are served as runtime/pprof writes them.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	target := ptest.Start(t, ptest.BuildGo(t, "goroutines.go"), "-n", "20")
	target.Until("ready")
	s := openSampler(t, nil)
	var got *sample.Goroutines
	var text strings.Builder
	target.WaitFor("goroutines that stand still", func() bool {
		var err error
		if got, err = s.Goroutines(bg, target.PID); err != nil {
			t.Fatal(err)
		}
		text.Reset()
		if err := got.WriteCounts(&text); err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(text.String(), "\t[")
	})
	fmt.Fprintln(target.Stdin, "1")
	own := ""
	for line := target.Line(); line != "end"; line = target.Line() {
		own += line + "\n"
	}
	want := strings.SplitAfter(own, "\n\n")
	groups := strings.SplitAfter(text.String(), "\n\n")
	if len(groups) < 18 || len(want) < 18 {
		t.Fatalf("%d and %d groups", len(groups), len(want))
	}
	header, _, _ := strings.Cut(groups[0], "\n")
	if header != fmt.Sprintf("goroutine profile: total %d", got.Len()) || got.Len() < 17*20 {
		t.Errorf("%s, of %d", header, got.Len())
	}
	groups[0] = strings.TrimPrefix(groups[0], header+"\n")
	for _, w := range want {
		if strings.HasPrefix(w, "goroutine profile: ") {
			_, w, _ = strings.Cut(w, "\n")
		}
		if strings.Contains(w, "main.main+") || w == "" || strings.Contains(w, "runtime.runFinalizers") {
			continue // it writes the profile
		}
		if !slices.ContainsFunc(groups, func(g string) bool { return withoutInlined(g) == withoutInlined(w) }) {
			t.Errorf("not among the groups: %s", w)
		}
	}
	if t.Failed() {
		t.Logf("groups: %s", text.String())
	}

	text.Reset()
	if err := got.WritePprof(&text); err != nil {
		t.Fatal(err)
	}
	p, err := gprofile.ParseData([]byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	total, labelled := int64(0), int64(0)
	for _, one := range p.Sample {
		total += one.Value[0]
		if slices.Equal(one.Label["request"], []string{"r1"}) {
			labelled += one.Value[0]
		}
	}
	if total != int64(got.Len()) || labelled != 20 || p.CheckValid() != nil {
		t.Errorf("%d goroutines, %d with labels: %v", total, labelled, p.CheckValid())
	}
}

// TestGoroutinesOfNone: another program has none.
func TestGoroutinesOfNone(t *testing.T) {
	t.Parallel()
	target := ptest.Start(t, ptest.BuildC(t, "idle.c"))
	target.Ready()
	if _, err := openSampler(t, nil).Goroutines(bg, target.PID); !errors.Is(err, pctl.ErrNoGo) {
		t.Error(err)
	}
}
