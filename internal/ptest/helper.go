package ptest

import (
	"fmt"
	"os"
	"testing"
)

// helperEnv is the environment variable with the name of the helper, in a process that is one.
const helperEnv = "PTEST_HELPER"

var helpers = map[string]func(){keeperName: keep, usageName: measure}

// Helper names a function that the test binary runs instead of its tests when [StartHelper] starts
// it. It is called from init functions or package variables; the name must be new. The helper has
// its arguments in os.Args[1:]. Its standard input ends when the test is over. When it returns, the
// process exits with status 0.
func Helper(name string, f func()) struct{} {
	if _, ok := helpers[name]; ok {
		panic("ptest: helper " + name + " exists")
	}
	helpers[name] = f
	return struct{}{}
}

func runHelper(name string) {
	f, ok := helpers[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "ptest: no helper %q\n", name)
		os.Exit(127)
	}
	os.Unsetenv(helperEnv) // what the helper starts is not a helper
	f()
}

// StartHelper starts the test binary again as the named helper.
func StartHelper(t testing.TB, name string, args ...string) *Target {
	t.Helper()
	if _, ok := helpers[name]; !ok {
		t.Fatalf("ptest: no helper %q", name)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return StartWith(t, &Options{Env: []string{helperEnv + "=" + name}}, append([]string{exe}, args...)...)
}

// Ready prints the line that a test waits for with [Target.Ready].
func Ready() { fmt.Println("ready") }

// AwaitEOF returns when the standard input ends: the test is over or has closed [Target.Stdin].
func AwaitEOF() {
	var b [64]byte
	for {
		if n, err := os.Stdin.Read(b[:]); n == 0 || err != nil {
			return
		}
	}
}
