package ptest

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// ThreadSlack is how many OS threads more than before a test binary may have after its tests. The
// runtime never ends a thread that no goroutine has locked. So tests that block many goroutines in
// system calls at once leave idle threads behind. A package that does so on purpose raises
// ThreadSlack before it calls [Main].
var ThreadSlack = 32

// Main runs a package's tests and exits with their status, or with 1 if they left something behind.
// It is the whole body of TestMain:
//
//	func TestMain(m *testing.M) { ptest.Main(m) }
//
// In a process started by [StartHelper] it runs the helper instead and exits with status 0 when the
// helper returns.
func Main(m *testing.M) {
	if name := os.Getenv(helperEnv); name != "" {
		runHelper(name)
		os.Exit(0)
	}
	mainCalled = true
	hurryRace()
	defaultSignals()
	flag.Set("test.parallel", strconv.Itoa(abreast)) // go test -parallel comes later, and wins
	dir, err := ownTemp()
	if err != nil {
		fmt.Fprintf(os.Stderr, "ptest: %v\n", err)
		os.Exit(1)
	}
	before := observe()
	code := m.Run()
	stopKeeper()
	os.RemoveAll(dir)
	if leaks := before.leaks(); len(leaks) > 0 {
		for _, leak := range leaks {
			fmt.Fprintf(os.Stderr, "ptest: left behind: %s\n", leak)
		}
		if code == 0 {
			code = 1
		}
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "ptest: on %s, Linux %s\n", Processor(), kernel())
	}
	os.Exit(code)
}

// abreast is how many of the tests that call t.Parallel run at the same time. They wait most of the time: for
// the kernel to plant or lift its probes, or for processes that wait themselves.
const abreast = 4

// dirEnv is the environment variable that tells the keeper the directory of the test binary's temporary
// files. The keeper removes the directory when the test binary is killed.
const dirEnv = "PTEST_DIR"

// ownTemp makes a directory for all temporary files of this test binary. Like /tmp it is open to every
// user, because some tests become another user.
func ownTemp() (string, error) {
	dir, err := os.MkdirTemp("", "ptools-test-")
	if err != nil {
		return "", err
	}
	os.Setenv("TMPDIR", dir)
	os.Setenv(dirEnv, dir)
	return dir, os.Chmod(dir, 0o777|os.ModeSticky)
}

// hurryRace removes the second that a program with the race detector sleeps before it exits. Some tests
// start the test binary hundreds of times.
func hurryRace() {
	os.Setenv("GORACE", strings.TrimSpace("atexit_sleep_ms=0 "+os.Getenv("GORACE")))
}

// defaultSignals gives the programs that tests start the default dispositions of signals that end them. A program
// inherits ignored signals, as from nohup(1) and as a background job of a shell, and the tools respect ignored
// signals.
func defaultSignals() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig) // an execve replaces a handler by the default
		}
	}
}

// mainCalled is set before the tests run; targets need it, because the keeper is a helper.
var mainCalled bool

// CommandMain is Main for the tests of a command. If the test binary is run under the command's name, it is the
// command. So tests can start the command as a separate process.
func CommandMain(m *testing.M, name string, command func()) {
	if filepath.Base(os.Args[0]) == name {
		command()
		return
	}
	Main(m)
}
