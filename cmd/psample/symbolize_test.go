package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/pprof/driver"

	"ptools/internal/ptest"
)

// pprofCommand is the command line of pprof, for a driver with the tools of binutils.
type pprofCommand struct {
	*flag.FlagSet
	args []string
}

func (c pprofCommand) StringList(name, value, usage string) *[]*string {
	return &[]*string{c.String(name, value, usage)}
}
func (pprofCommand) ExtraUsage() string   { return "" }
func (pprofCommand) AddExtraUsage(string) {}

func (c pprofCommand) Parse(func()) []string {
	if c.FlagSet.Parse(c.args) != nil {
		return nil
	}
	return c.Args()
}

// TestSymbolizedLater: readers of a stripped program's profile find its functions in the file with the symbols, and no
// names are made up for them.
func TestSymbolizedLater(t *testing.T) {
	ptest.Need(t, "strip")
	ptest.Need(t, "addr2line")
	dir := t.TempDir()
	whole := ptest.BuildC(t, "spin.c", "-Wl,--build-id=sha1")
	stripped := filepath.Join(dir, filepath.Base(whole))
	if out, err := exec.Command("strip", "-s", "-o", stripped, whole).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := regexp.MustCompile(`(?m)%  spin$`) // the function, not the file
	g := ptest.Start(t, stripped)
	g.Ready()
	file, shown := filepath.Join(dir, "spin.pb.gz"), filepath.Join(dir, "top")
	out, err := exec.Command(filepath.Join(psampleDir(t), "psample"), "-F", "500", "-t", "0.2", "-o", file, "-p", fmt.Sprint(g.PID)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	top, err := exec.Command(ptest.GoTool(t, "pprof"), "-top", file).Output()
	if err != nil || strings.Contains(string(top), "+0x") || !strings.Contains(string(top), "[spin]") {
		t.Errorf("without symbols: %v\n%s", err, top)
	}
	top, err = exec.Command(ptest.GoTool(t, "pprof"), "-top", whole, file).Output()
	if err != nil || !found.Match(top) {
		t.Errorf("go tool pprof with the symbols: %v\n%s", err, top)
	}
	t.Setenv("PPROF_BINARY_PATH", filepath.Dir(whole))
	err = driver.PProf(&driver.Options{
		Flagset: pprofCommand{flag.NewFlagSet("pprof", flag.ContinueOnError), []string{"-top", "-output=" + shown, file}},
		UI:      pprofUI{},
	})
	if b, _ := os.ReadFile(shown); err != nil || !found.Match(b) {
		t.Errorf("pprof with the symbols: %v\n%s", err, b)
	}
}
