package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// giantCopies is how many copies of a unit are linked. They make an executable of 540 MB,
// or of 210 MB with debug information compressed by zlib.
const giantCopies = 350

// The helper runs a command and prints how many kilobytes it has used at most and its processor time, and then what it
// has printed. A process begins with the most that the one which has made it ever used, and the test binary has used more
// than psample may.
var _ = ptest.Helper("usage", func() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	out, err := cmd.Output()
	if err != nil {
		fmt.Println(err)
		return
	}
	used := cmd.ProcessState
	fmt.Println(used.SysUsage().(*syscall.Rusage).Maxrss, int64(used.UserTime()+used.SystemTime()))
	os.Stdout.Write(out)
})

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
			begun := time.Now()
			tool := filepath.Join(psampleDir(t), "psample")
			out, _ := ptest.StartHelper(t, "usage", tool, "-q", "-t", "0.5", test.flag, "-p", fmt.Sprint(g.PID)).Finish()
			var most, cpu int64
			if n, err := fmt.Sscan(out, &most, &cpu); n != 2 || !strings.Contains(out, test.want) {
				t.Fatalf("psample %s: %v, %q without %q", test.flag, err, out, test.want)
			}
			t.Logf("%s, %d MB: psample %s -t 0.5: %v, of the processor %v, %d MB", method, st.Size()>>20, test.flag, time.Since(begun), time.Duration(cpu), most>>10)
			if most>>10 > 100 {
				t.Errorf("%d MB were used", most>>10)
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
