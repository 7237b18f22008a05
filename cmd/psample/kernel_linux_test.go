package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
	"ptools/internal/sample"
)

// TestKernelFrames: the stacks of a program that works in the kernel have the kernel's functions, marked, above the
// call that entered the kernel.
func TestKernelFrames(t *testing.T) {
	t.Parallel()
	timers, err := sample.OpenTimers(sample.TimersOnly, sample.TimersOptions{Period: sample.DefaultPeriod, Kernel: true})
	if err != nil {
		t.Skip(err) // needs root
	}
	timers.Close()
	g := ptest.Start(t, "dd", "if=/dev/zero", "of=/dev/null", "bs=1M")
	out, err := exec.Command(filepath.Join(psampleDir(t), "psample"), "-q", "--kernel", "-t", strconv.Itoa(ptest.Rounds(400, 1000, 1000))+"ms", "-O", "folded", "--value", "cpu",
		"-p", fmt.Sprint(g.PID)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var with, all int
	for line := range strings.Lines(string(out)) {
		i := strings.LastIndexByte(line, ' ')
		var n int
		fmt.Sscan(line[i:], &n)
		all += n
		if strings.Contains(line[:i], ";[read];") && strings.HasSuffix(line[:i], "_[k]") {
			with += n
		}
	}
	if with < all/2 {
		t.Errorf("%d of %d ns are in the kernel, in read:\n%s", with, all, out)
	}
}
