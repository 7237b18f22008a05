package ptest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// withoutEnv says which system calls fail in this process.
const withoutEnv = "PTOOLS_TEST_WITHOUT"

// Without runs the calling test again in a process in which some system calls fail with EPERM, as in a
// container. It reports true in that process. calls are separated by commas; without.c has the list of
// possible ones.
func Without(t *testing.T, calls string) bool {
	t.Helper()
	if os.Getenv(withoutEnv) != "" {
		return true
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := []string{calls, exe, "-test.run=^" + t.Name() + "$", "-test.v"}
	if testing.Short() {
		argv = append(argv, "-test.short")
	}
	cmd := exec.Command(BuildC(t, "without.c"), argv...)
	cmd.Env = append(os.Environ(), withoutEnv+"="+calls)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("without %s: %v\n%s", calls, err, out)
	}
	return false
}
