package elfsym

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// build returns the path of a file that a compiler makes of sources in testdata. The
// test must not change it: the same command line gives the same file. If the compiler
// is not installed, the test is skipped; if it fails, the test fails.
func build(t testing.TB, argv ...string) string {
	t.Helper()
	return buildIn(t, "", argv)
}

func buildIn(t testing.TB, dir string, argv []string) string {
	t.Helper()
	tool, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("no %s on this machine", argv[0])
	}
	return ptest.Cached(t, "prog", func(tmp, _ string) error {
		cmd := exec.Command(tool, append(slices.Clip(argv[1:]), "-o", filepath.Join(tmp, "prog"))...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %v\n%s", argv, err, out)
		}
		return nil
	}, ptest.CompilerVersion(argv[0]), dir, argv, sources(t))
}

// sources returns the sources of the programs, and their directory, which is in debug information.
func sources(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	root, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(name)
		found[name] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// inlineProgram builds testdata/inline.cc.
func inlineProgram(t testing.TB, flags ...string) string {
	t.Helper()
	src, err := filepath.Abs("testdata/inline.cc")
	if err != nil {
		t.Fatal(err)
	}
	return build(t, append(append([]string{"g++", "-O2"}, flags...), src)...)
}

// output runs a tool of the machine and returns what it prints.
func output(t testing.TB, argv ...string) string {
	t.Helper()
	tool, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("no %s on this machine", argv[0])
	}
	out, err := exec.Command(tool, argv[1:]...).Output()
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(argv, " "), err)
	}
	return string(out)
}

// open opens path as a File, which is closed at the end of the test.
func open(t testing.TB, path string, src Source) *File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(file, info.Size(), path, src)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// installed returns a file of the distribution. It skips the test if the file is not
// there.
func installed(t testing.TB, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed", path)
	}
	return path
}
