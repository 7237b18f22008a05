package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/sample"
)

// TestSharesAsCounted compares psample's shares with the processor time that the program itself counts: root's by timers,
// which stop no thread, and an ordinary user's, who has none.
func TestSharesAsCounted(t *testing.T) {
	t.Run("root", func(t *testing.T) {
		timers, err := sample.OpenTimers(sample.TimersOnly, sample.TimersOptions{Period: sample.DefaultPeriod})
		if err != nil {
			t.Skip(err)
		}
		timers.Close()
		header := asCounted(t, "root", nil)
		if !strings.Contains(header, " 0 stops,") || !strings.Contains(header, " samples by timers") {
			t.Errorf("%q", header)
		}
	})
	t.Run("ordinary user", func(t *testing.T) {
		ptest.NeedUsers(t)
		asCounted(t, "an ordinary user", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ptest.Nobody, Gid: ptest.Nobody}})
	})
}

const (
	rate   = 1999 // Hz
	points = 0.03 // how far a share may be off, unless five standard deviations are more
)

// taken matches the number of stops, one for each look that counts, and of samples by timers.
var taken = regexp.MustCompile(`\), (\d+) stops,(?:.* (\d+) samples by timers)?`)

// asCounted samples a program, both with the rights given, and compares. It returns what psample says of its rounds.
func asCounted(t *testing.T, as string, rights *syscall.SysProcAttr) (header string) {
	off, psample := 0.0, copyOf(t)
	truth := ptest.NewTruth(t)
	target := filepath.Join(filepath.Dir(psample), "mix")
	b, err := os.ReadFile(ptest.BuildC(t, "mix.c"))
	if err != nil {
		t.Fatal(err)
	}
	ptest.WriteProgram(t, target, b)
	for path, mode := range map[string]os.FileMode{
		target: 0o755, truth.Path(): 0o666, filepath.Dir(truth.Path()): 0o755, filepath.Dir(filepath.Dir(truth.Path())): 0o755,
	} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	// Where each stop takes ten milliseconds, as under emulation, psample makes few, so that they cost the program little.
	length := ptest.Rounds(3000, 3000, 20000) * int(min(ptest.Slow(), 4))
	cmd := exec.Command(psample, "-F", fmt.Sprint(rate), "-O", "folded", "--value", "cpu", "--", target, "-n", fmt.Sprint(length))
	cmd.Env = append(os.Environ(), "PTEST_TRUTH="+truth.Path())
	cmd.SysProcAttr, cmd.Dir = rights, "/"
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	header, _, _ = strings.Cut(stderr.String(), "\n")
	functions, divided := [...]string{"fifty", "thirty", "twenty"}, [...]float64{.5, .3, .2}
	var got, want [len(functions)]float64
	var all, counted float64
	for i, f := range functions {
		for line := range strings.Lines(stdout.String()) {
			at := strings.LastIndexByte(line, ' ')
			if at > 0 && strings.Contains(line[:at]+";", ";"+f+";") {
				ns, _ := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
				got[i] += ns
			}
		}
		want[i] = float64(truth.Share(i))
		all, counted = all+got[i], counted+want[i]
	}
	n := 0.0
	if m := taken.FindStringSubmatch(header); m != nil {
		n, _ = strconv.ParseFloat(cmp.Or(m[2], m[1]), 64)
	}
	if n < 50 {
		t.Fatalf("%.0f samples: %s\n%s", n, &stderr, &stdout)
	}
	for i, f := range functions {
		got, want := got[i]/all, want[i]/counted
		chance := 5 * math.Sqrt(want*(1-want)/n)
		off = max(off, math.Abs(got-want))
		// A host that takes the processor of an emulated machine away puts the program's own count off, and not the samples.
		if stolen := math.Abs(want - divided[i]); math.Abs(got-want) > max(points, chance)+stolen {
			t.Errorf("%s: %.1f %%, its own count is %.1f %%", f, 100*got, 100*want)
		}
		t.Logf("%s: %.1f %%, its own count is %.1f %%", f, 100*got, 100*want)
	}
	what, _, _ := strings.Cut(strings.TrimPrefix(header, "psample: "), ", longest pause")
	t.Logf("fact: shares of psample as %s: %.1f points off at most in %.0f samples (%s)", as, 100*off, n, what)
	return header
}
