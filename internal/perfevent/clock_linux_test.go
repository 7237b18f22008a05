package perfevent

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// The helper clock prints Now in nanoseconds.
var _ = ptest.Helper("clock", func() { fmt.Println(Now().Nanoseconds()) })

// TestNowInTimeNamespace: Now is the clock of the kernel's records in each time namespace.
func TestNowInTimeNamespace(t *testing.T) {
	for _, offset := range []string{"--monotonic=-500", "--monotonic=86400", "--boottime=3600"} {
		before := Now()
		cmd := exec.Command("unshare", "-T", offset, "--", os.Args[0])
		cmd.Env = append(os.Environ(), "PTEST_HELPER=clock")
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("unshare -T %s: %v: no right to make a time namespace", offset, err)
		}
		var ns int64
		if _, err := fmt.Sscan(string(out), &ns); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if there, after := time.Duration(ns), Now(); there < before || there > after {
			t.Errorf("%s: %v there, %v to %v here", offset, there, before, after)
		}
	}
}

func TestParseOffset(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"monotonic           0         0\nboottime            0         0\n", 0},
		{"monotonic        -500         0\nboottime            7         0\n", -500 * time.Second},
		{"boottime 7 0\nmonotonic 86400 5\n", 86400*time.Second + 5},
		{"monotonic " + strconv.Itoa(1<<40) + "0000000000 0\n", 0},
		{"monotonic 1\n", 0},
		{"", 0},
	} {
		if got := parseOffset([]byte(c.text), "monotonic"); got != c.want {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
}
