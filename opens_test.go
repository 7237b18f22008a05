package ptools_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// openers are the functions that make a file system answer.
var openers = map[string]string{
	"os":      "Open OpenFile OpenRoot ReadFile ReadDir Readlink Stat Lstat Create",
	"unix":    "Open Openat Openat2 Stat Lstat Statfs Fstatfs",
	"syscall": "Open Stat Lstat Statfs Fstatfs",
}

// ways says which files may call them for other files than those of /proc and /sys, and why a file system that does not
// answer does no harm there. All other code opens files of strangers by internal/patience, or is called by it.
var ways = map[string]string{
	"internal/patience/file.go":               "is the way in",
	"internal/procfs/root_linux.go":           "files and roots of a process, opened for handle.source, which is patient",
	"internal/procfs/walk_linux.go":           "likewise",
	"internal/procfs/sockets.go":              "a directory of /proc",
	"internal/mem/memory_linux.go":            "files of /proc",
	"internal/elfsym/local_linux.go":          "asked by a Patient, patiently",
	"internal/profile/file.go":                "the file that the user wants written",
	"internal/tracee/latency.go":              "a device of the kernel",
	"internal/procfs/class.go":                "the program of a process, within patience.Do",
	"internal/job/descriptors.go":             "/dev/null",
	"internal/debuginfod/debuginfod.go":       "the user's own cache, within patience.Do",
	"pctl/control/withheld_linux.go":          "the program of a process, within patience.Do",
	"pctl/facts.go":                           "a directory of /proc",
	"internal/perfevent/traceevents_linux.go": "files of tracefs",
	"cmd/psampled/listen.go":                  "the socket that the administrator names, within patience.Do",
	"cmd/psample/render.go":                   "a profile that the user names, before anything is sampled; ^C ends the waiting",
	"cmd/psample/top.go":                      "the terminal",
}

// TestOpens finds files that are opened in another way.
func TestOpens(t *testing.T) {
	used := make(map[string]bool)
	for _, dir := range []string{"internal", "pctl", "cmd"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || path == "internal/ptest"):
				return filepath.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && opensOther(call) {
					if used[path] = true; ways[path] == "" {
						t.Errorf("%s: opens a file without patience: use internal/patience, or say in ways why it need not", files.Position(call.Pos()))
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for path := range ways {
		if !used[path] {
			t.Errorf("%s is in ways, and opens nothing", path)
		}
	}
}

// opensOther reports whether a call is one of openers, for a file that is not named as one of /proc or /sys.
func opensOther(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	if !ok || !strings.Contains(" "+openers[pkg.Name]+" ", " "+f.Sel.Name+" ") {
		return false
	}
	kernel, strange := false, false
	for _, arg := range call.Args {
		ast.Inspect(arg, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok {
				kernel = kernel || strings.HasPrefix(text.Value, `"/proc/`) || strings.HasPrefix(text.Value, `"/sys/`)
				strange = strange || strings.HasSuffix(text.Value, `/exe"`) || strings.Contains(text.Value, "/root") || strings.Contains(text.Value, "/cwd")
			}
			return true
		})
	}
	return !kernel || strange // a file of the process, by a link of the kernel's
}
