package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestManyObjects sets a breakpoint in more objects than there are descriptors.
func TestManyObjects(t *testing.T) {
	const objects, limit = 100, 40
	plugin, err := os.ReadFile(ptest.BuildC(t, "plugin.c", "-shared", "-fPIC"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	paths := make([]string, objects)
	for i := range paths {
		paths[i] = filepath.Join(dir, fmt.Sprintf("plugin%d.so", i))
		ptest.WriteProgram(t, paths[i], plugin)
	}
	g := ptest.StartWith(t, &ptest.Options{Env: []string{"LD_PRELOAD=" + strings.Join(paths, " ")}}, ptest.BuildC(t, "idle.c"))
	g.Ready()
	cmd := exec.Command("/bin/sh", "-c", `ulimit -n `+strconv.Itoa(limit)+`; exec "$0" "$@"`,
		pgrabPath(t), "-s", "none", "-q", "-t", "0.1", "-b", "plugin_call", "-p", strconv.Itoa(g.PID))
	r := runCommand(t, cmd)
	if set := regexp.MustCompile(` (\d+) places  plugin_call`).FindStringSubmatch(r.stdout); set == nil || set[1] != strconv.Itoa(objects) || r.status != 0 {
		t.Errorf("%q places of %d, exit status %d", set, objects, r.status)
	}
	expectFree(t, g, "S")
	g.Finish()
}

// TestTooFewDescriptors: if even the runtime cannot have its descriptors, one line says so.
func TestTooFewDescriptors(t *testing.T) {
	g, _ := startSpin(t)
	for limit := 6; limit <= 12; limit++ {
		script := `exec "$0" -q -s none -t 0.01 -p "$1"`
		cmd := exec.Command("/bin/sh", "-c", "ulimit -n "+strconv.Itoa(limit)+"; "+script, pgrabPath(t), strconv.Itoa(g.PID))
		r := runCommand(t, cmd)
		if r.status > 1 || strings.Count(r.stderr, "\n") != r.status || r.status == 1 && !strings.Contains(r.stderr, "too many open files") {
			t.Errorf("limit %d: exit status %d, %q", limit, r.status, r.stderr)
		}
	}
}
