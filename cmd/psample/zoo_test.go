package main

import (
	"bytes"
	"encoding/json"
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

// TestReadersOfTheZoo has the usual readers of profiles read a profile of node, which has about
// ten threads.
func TestReadersOfTheZoo(t *testing.T) {
	for _, a := range ptest.Zoo(t) {
		if a.Name != "node" {
			continue
		}
		t.Run("flamegraph", func(t *testing.T) { testFlameGraph(t, a.Busy) })
		t.Run("speedscope", func(t *testing.T) { testSpeedscope(t, a.Busy) })
		t.Run("pprof", func(t *testing.T) { testPprof(t, a.Busy) })
	}
}

// profileOf returns a file with the profile of a second of a program.
func profileOf(t *testing.T, command []string, name string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	target := ptest.Start(t, command...)
	args := append([]string{"-q", "-t", "1", "-F", "200", "-o", file, "-p", strconv.Itoa(target.PID)}, flags...)
	if out, err := exec.Command(filepath.Join(psampleDir(t), "psample"), args...).CombinedOutput(); err != nil {
		t.Fatalf("psample: %v\n%s", err, out)
	}
	return file
}

// flameGraph is the script from Debian's libdevel-nytprof-perl.
const flameGraph = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"

// testFlameGraph: the script counts as many samples as our lines have in sum.
func testFlameGraph(t *testing.T, command []string) {
	ptest.Need(t, "perl")
	ptest.Need(t, flameGraph)
	file := profileOf(t, command, "x.folded", "--threads")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for line := range strings.Lines(string(text)) {
		n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndexByte(line, ' ')+1:]))
		if err != nil {
			t.Errorf("line %q: %v", line, err)
		}
		sum += n
	}
	var problems bytes.Buffer
	script := exec.Command("perl", flameGraph, file)
	script.Stderr = &problems
	svg, err := script.Output()
	if err != nil || problems.Len() > 0 {
		t.Fatalf("%v: %s", err, problems.String())
	}
	if all := fmt.Sprintf("<title>all (%s samples, 100%%)", grouped(sum)); !bytes.Contains(svg, []byte(all)) {
		t.Errorf("no %q in %d bytes of SVG", all, len(svg))
	}
}

// grouped writes a number as the script does: 12,345.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// testSpeedscope: the importer of speedscope, which comes from npm, reads the file as intended.
func testSpeedscope(t *testing.T, command []string) {
	ptest.Need(t, "node")
	program, err := exec.LookPath("speedscope")
	if err != nil {
		t.Skip("speedscope is not installed (npm install -g speedscope)")
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		t.Fatal(err)
	}
	release := filepath.Join(filepath.Dir(program), "../dist/release")
	file := profileOf(t, command, "x.speedscope.json", "--value", "cpu")
	out, err := exec.Command("node", "testdata/speedscope.mjs", release, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var ours struct {
		Profiles []struct {
			Name, Unit string
			EndValue   float64
		}
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &ours)
	}
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for _, want := range ours.Profiles {
		var got struct {
			Name, Unit, Top string
			Weight, Self    float64
		}
		if err := dec.Decode(&got); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if got.Name != want.Name || got.Unit != want.Unit || got.Weight != want.EndValue || got.Self <= 0 {
			t.Errorf("speedscope reads %+v, we mean %+v", got, want)
		}
	}
	t.Logf("%s", out)
}

// testPprof: each of the three values in each view.
func testPprof(t *testing.T, command []string) {
	ptest.Need(t, "go")
	file := profileOf(t, command, "x.pb.gz")
	for _, value := range []string{"samples", "cpu", "wall"} {
		for view, want := range map[string]string{
			"-top": `(?m)^ *[0-9.]+.* \S`, "-tree": `\|   \S`, "-raw": `tid:\[[0-9]+\]`, "-traces": `thread: +node`,
		} {
			out, err := exec.Command(ptest.GoTool(t, "pprof"), view, "-sample_index="+value, file).CombinedOutput()
			if err != nil || !regexp.MustCompile(want).Match(out) {
				t.Errorf("go tool pprof %s -sample_index=%s: %v\n%s", view, value, err, out)
			}
		}
	}
}
