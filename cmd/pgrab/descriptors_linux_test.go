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
