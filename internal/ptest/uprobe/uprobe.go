// Package uprobe says where tests may use uprobes. It is apart from ptest, which the tests of perfevent use.
package uprobe

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/perfevent"
)

// The tests of a package run as on a kernel without uprobe_multi links if PTOOLS_PROBES=events is set.
func init() {
	if os.Getenv("PTOOLS_PROBES") == "events" {
		perfevent.WithoutLinks()
	}
}

// Need skips a test where the kernel refuses them.
func Need(t testing.TB) {
	t.Helper()
	refused, err := Refused()
	if refused {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// NeedCalls is Need, and skips a test where the kernel has no counting of calls (before Linux 5.12).
func NeedCalls(t testing.TB) {
	t.Helper()
	Need(t)
	c, err := perfevent.OpenCalls(os.Getpid(), 1, 1, perfevent.CallReports{}, perfevent.CallGroups{}, perfevent.Alone)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, perfevent.ErrNoFetch) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

// NeedLinks is Need, and skips a test where uprobes are no links: before Linux 6.6 a set of probes cannot be exchanged for another, and
// children cannot be followed.
func NeedLinks(t testing.TB) {
	t.Helper()
	Need(t)
	if how := perfevent.Mechanism(); !strings.Contains(how, "uprobe_multi") {
		t.Skipf("uprobes are %s", how)
	}
}

// Refused reports whether the kernel refuses them. Otherwise an error is one of these tests.
func Refused() (bool, error) {
	s, err := perfevent.NewSignals(os.Getpid(), syscall.SIGWINCH)
	if err != nil {
		return errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported), err
	}
	s.Close()
	return false, nil
}
