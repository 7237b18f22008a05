package ptools_test

import (
	"bytes"
	"encoding/json"
	"go/build"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	module = "ptools"
	unix   = "golang.org/x/sys/unix"
)

// rooms says which packages of the module each package may import. A package may not import what
// only the packages that it imports may. unix marks the packages that make system calls by
// golang.org/x/sys/unix.
var rooms = map[string][]string{
	"":                    {},
	"internal/x86":        {},
	"internal/a64":        {},
	"internal/machine":    {"internal/a64", "internal/x86"},
	"internal/ptrace":     {unix, "internal/a64", "internal/machine"},
	"internal/procfs":     {unix, "internal/patience"},
	"internal/mem":        {"internal/patience", "internal/procfs", unix},
	"internal/preempt":    {unix, "internal/procfs"},
	"internal/need":       {unix, "internal/procfs"},
	"internal/perfevent":  {unix, "internal/need", "internal/procfs", "internal/ptrace"},
	"internal/cursor":     {},
	"internal/patience":   {},
	"internal/debuginfod": {"internal/patience"},
	"internal/elfsym":     {"internal/cursor", "internal/intern", "internal/patience"},
	"internal/glob":       {},
	"internal/rtld":       {},
	"internal/intern":     {},
	"internal/flame":      {"internal/clean", "internal/intern"},
	"internal/profile":    {"internal/clean", "internal/fit", "internal/flame", "internal/intern"},
	"internal/ptest":      {},
	"internal/hostile":    {},
	"internal/clean":      {},
	"internal/fit":        {},
	"internal/futex":      {},
	"internal/goroutines": {"internal/elfsym", "internal/ptrace", "internal/unwind", "pctl/handle"},
	"internal/gotime":     {"internal/goroutines", "internal/unwind"},
	"internal/calls":      {"internal/elfsym", "internal/glob", "internal/goroutines", "internal/mem", "internal/patience", "internal/perfevent", "internal/procfs", "internal/ptrace", "internal/rtld", "internal/unwind", "internal/x86", "pctl/handle"},
	"internal/inner":      {"internal/calls", "pctl/control"},
	"internal/guard":      {"internal/ptrace"},
	"internal/tracee":     {"internal/ptrace", "internal/procfs", "internal/mem", "internal/guard"},
	"pctl/notify":         {},
	"pctl/bkpt":           {"internal/ptrace", "internal/machine"},
	"internal/unwind":     {"internal/ptrace", "internal/a64", "internal/x86", "internal/elfsym", "internal/cursor"},

	"internal/program": {"internal/procfs", "internal/elfsym", "internal/rtld", "pctl/handle"},

	"pctl/handle": {"internal/debuginfod", "internal/glob", "internal/patience", "internal/procfs", "internal/mem", "internal/elfsym", "internal/unwind"},

	"pctl/control": {"internal/patience", "internal/ptrace", "internal/machine", "internal/procfs", "internal/mem", "internal/elfsym", "internal/rtld",
		"internal/program", "internal/perfevent", "internal/guard", "internal/tracee", "pctl/notify", "pctl/bkpt", "pctl/handle"},

	"pctl": {"internal/calls", "internal/clean", "internal/futex", "internal/glob", "internal/goroutines", "internal/guard", "internal/inner", "internal/need", "internal/patience", "internal/ptrace", "internal/procfs", "internal/mem", "internal/elfsym", "internal/unwind", "internal/machine",
		"pctl/notify", "pctl/bkpt", "pctl/handle", "pctl/control"},

	"internal/source": {"internal/elfsym", "internal/goroutines", "internal/gotime", "internal/inner", "internal/mem", "internal/perfevent", "internal/procfs", "internal/profile", "internal/ptrace", "internal/unwind",
		"pctl/control", "pctl/handle"},

	"internal/locks":     {"internal/futex", "internal/procfs", "internal/profile"},
	"internal/births":    {"internal/inner", "internal/perfevent", "internal/procfs", "internal/source", "pctl/control"},
	"internal/creations": {"internal/machine", "internal/profile", "internal/source", "internal/unwind"},

	"internal/sample": {"internal/elfsym", "internal/futex", "internal/goroutines", "internal/gotime", "internal/intern", "internal/locks", "internal/perfevent", "internal/preempt", "internal/procfs", "internal/profile", "internal/ptrace", "internal/source", "internal/unwind",
		"pctl/control", "pctl/handle"},

	"pctl/push":   {"internal/clean", "internal/patience"},
	"pctl/sample": {"internal/births", "internal/creations", "internal/intern", "internal/profile", "internal/sample", "internal/source", "pctl"},

	"pctl/targets":        {"internal/patience", "internal/procfs", "internal/elfsym"},
	"pctl/serve":          {"internal/clean", "internal/procfs", "pctl", "pctl/sample", "pctl/targets"},
	"internal/listening":  {},
	"internal/conf":       {"internal/listening", "internal/patience", "pctl/push", "pctl/targets"},
	"internal/continuous": {"pctl/push", "pctl/sample", "pctl/targets"},
	"cmd/psampled":        {"internal/check", "internal/clean", "internal/conf", "internal/continuous", "internal/job", "internal/listening", "internal/patience", "internal/usage", "pctl", "pctl/push", "pctl/sample", "pctl/serve", "pctl/targets"},

	"internal/check": {"internal/clean", "internal/elfsym", "internal/mem", "internal/need", "internal/patience", "internal/perfevent", "internal/procfs", "internal/usage",
		"pctl", "pctl/handle"},

	"internal/live": {"internal/fit", "internal/profile"},

	"internal/usage": {},
	"internal/job":   {unix, "internal/debuginfod", "internal/elfsym", "internal/patience", "internal/procfs", "internal/ptrace", "pctl", "pctl/handle", "pctl/targets"},

	"internal/ptest/uprobe": {"internal/perfevent"},

	"cmd/pgrab":          {"pctl", "pctl/targets", "internal/check", "internal/job", "internal/clean", "internal/usage"},
	"cmd/pcalls":         {"pctl", "pctl/targets", "internal/calls", "internal/clean", "internal/fit", "internal/inner", "internal/job", "internal/perfevent", "internal/procfs", "internal/profile", "internal/usage", "pctl/handle"},
	"cmd/psample":        {"pctl", "pctl/targets", "internal/births", "internal/check", "internal/creations", "internal/fit", "internal/job", "internal/listening", "internal/live", "internal/procfs", "internal/sample", "internal/source", "internal/profile", "internal/usage"},
	"examples/functrace": {"pctl"},
	// Perfevent has the clock that targets count by.
	"bench": {"internal/intern", "internal/perfevent", "internal/ptest", "internal/procfs", "internal/elfsym", "internal/unwind", "pctl"},
}

// machineRooms are the rooms whose files may depend on the processor, in files named _amd64 and _arm64.
var machineRooms = []string{"internal/machine", "internal/perfevent", "internal/procfs", "internal/ptrace", "internal/x86", "pctl", "pctl/bkpt", "pctl/control", "internal/unwind"}

// pkg is the part of go list's output that the test reads.
type pkg struct {
	ImportPath     string
	Dir            string
	GoFiles        []string
	IgnoredGoFiles []string
	TestGoFiles    []string
	XTestGoFiles   []string
	SFiles         []string
	CgoFiles       []string
	Imports        []string
}

// list runs go list for a platform, without cgo, which no package of the module uses.
func list(t *testing.T, goos, goarch string) map[string]pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json", "./...")
	cmd.Env = append(cmd.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	pkgs := map[string]pkg{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		pkgs[room] = p
	}
}

// TestImports holds every package, on every platform, against the table.
func TestImports(t *testing.T) {
	for _, platform := range [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}} {
		for room, p := range list(t, platform[0], platform[1]) {
			allowed, ok := rooms[room]
			if !ok {
				t.Errorf("package %s is not in the table: say in rooms what it may import", p.ImportPath)
				continue
			}
			for _, imp := range p.Imports {
				inside := strings.TrimPrefix(imp, module+"/")
				if inside == imp && imp != unix {
					continue
				}
				if !slices.Contains(allowed, inside) {
					t.Errorf("%s/%s: %s imports %s", platform[0], platform[1], p.ImportPath, imp)
				}
			}
			if len(p.CgoFiles) > 0 {
				t.Errorf("%s uses cgo", p.ImportPath)
			}
		}
	}
}

// TestLinked: packages that only tests use are in no program. pprof's pages are in psample alone. Packages that serve
// metrics, read configurations and write protocol buffers are in psampled alone.
func TestLinked(t *testing.T) {
	for _, cmd := range []string{"./cmd/pgrab", "./cmd/psample", "./cmd/psampled"} {
		out, err := exec.Command("go", "list", "-deps", cmd).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for dep := range strings.Lines(string(out)) {
			for prefix, only := range map[string]string{
				"github.com/chromedp/": "", "github.com/google/pprof/driver": "./cmd/psample", "github.com/prometheus/": "./cmd/psampled",
				"go.yaml.in/": "./cmd/psampled", "google.golang.org/protobuf": "./cmd/psampled",
			} {
				if strings.HasPrefix(dep, prefix) && cmd != only {
					t.Errorf("%s links %s", cmd, dep)
				}
			}
		}
	}
}

// TestTable checks the table itself: no cycle, so the arrows point one way.
func TestTable(t *testing.T) {
	const (
		open = iota + 1
		closed
	)
	state := map[string]int{}
	var visit func(room string)
	visit = func(room string) {
		switch state[room] {
		case open:
			t.Fatalf("cycle through %s", room)
		case closed:
			return
		}
		state[room] = open
		for _, imp := range rooms[room] {
			if _, ok := rooms[imp]; !ok && imp != unix {
				t.Errorf("%s may import %s, which is not in the table", room, imp)
			}
			visit(imp)
		}
		state[room] = closed
	}
	for room := range rooms {
		visit(room)
	}
}

// TestMachineFiles finds files for one processor outside the rooms that may have them, and in those
// rooms such files under another name.
func TestMachineFiles(t *testing.T) {
	linux := build.Default
	linux.GOOS, linux.CgoEnabled = "linux", false
	for room, p := range list(t, "linux", "amd64") {
		files := slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles, p.SFiles)
		for _, file := range files {
			if !machineDependent(t, linux, p.Dir, file) {
				continue
			}
			name := strings.TrimSuffix(strings.TrimSuffix(file, path.Ext(file)), "_test")
			named := strings.HasSuffix(name, "_amd64") || strings.HasSuffix(name, "_arm64")
			if slices.Contains(p.GoFiles, file) && !named || !slices.Contains(machineRooms, room) {
				t.Errorf("%s/%s is for one processor: such files are named _amd64 or _arm64 and belong in %v", room, file, machineRooms)
			}
		}
	}
}

// machineDependent reports whether a file is built for some processors on Linux and not for others.
func machineDependent(t *testing.T, c build.Context, dir, file string) bool {
	t.Helper()
	matched := 0
	arches := []string{"amd64", "arm64", "riscv64", "386"}
	for _, arch := range arches {
		c.GOARCH = arch
		ok, err := c.MatchFile(dir, file)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			matched++
		}
	}
	return matched != 0 && matched != len(arches)
}
