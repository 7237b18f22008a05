package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// giantCopies is how many copies of a unit are linked. They make an executable of 540 MB,
// or of 210 MB with debug information compressed by zlib.
const giantCopies = 350

// TestGiant samples a program with hundreds of megabytes of compressed debug information. Neither
// functions nor lines may take more than 100 MB; the time is logged. The wanted lines are at the
// very end of the data that have to be decompressed.
func TestGiant(t *testing.T) {
	if !ptest.Torture() {
		t.Skip("building it takes a minute: make torture")
	}
	plain := buildGiant(t)
	for _, method := range []string{"zlib", "zstd"} {
		exe := plain + "." + method
		compile(t, "objcopy", "--compress-debug-sections="+method, plain, exe)
		st, err := os.Stat(exe)
		if err != nil {
			t.Fatal(err)
		}
		g := ptest.Start(t, exe)
		g.Ready()
		for _, test := range []struct{ flag, want string }{{"-s", "spin()"}, {"-l", "main.cc:"}} {
			tool := filepath.Join(psampleDir(t), "psample")
			used := ptest.Measure(t, time.Minute, tool, "-q", "-t", "0.5", test.flag, "-p", fmt.Sprint(g.PID))
			if used.Status != "exit status 0" || !strings.Contains(used.Output, test.want) {
				t.Fatalf("psample %s: %s, %q without %q", test.flag, used.Status, used.Output, test.want)
			}
			t.Logf("%s, %d MB: psample %s -t 0.5: %v, of the processor %v, %d MB", method, st.Size()>>20, test.flag, used.Time, used.CPU, used.Memory>>20)
			if used.Memory>>20 > 100 {
				t.Errorf("%d MB were used", used.Memory>>20)
			}
		}
	}
}

// buildGiant links one object many times.
func buildGiant(t *testing.T) string {
	dir := t.TempDir()
	unit, main, exe := filepath.Join(dir, "unit.o"), filepath.Join(dir, "main.o"), filepath.Join(dir, "giant")
	compile(t, "g++", "-g3", "-O2", "-c", "testdata/giant/unit.cc", "-o", unit)
	compile(t, "g++", "-g", "-O2", "-c", "testdata/giant/main.cc", "-o", main)
	args := []string{"-o", exe}
	for range giantCopies {
		args = append(args, unit)
	}
	compile(t, "g++", append(args, main)...)
	return exe
}

func compile(t *testing.T, tool string, args ...string) {
	t.Helper()
	ptest.Need(t, tool)
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", tool, err, out)
	}
}
