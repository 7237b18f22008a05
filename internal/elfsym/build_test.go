package elfsym

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// built is what the tests have compiled, by command line.
var built struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "elfsym")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir, built.paths = dir, make(map[string]string)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// build runs a compiler and returns the path of what it made, which the test
// must not change: the same command line gives the same file. A compiler that
// is not installed is a reason to skip, one that fails is not.
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
	built.Lock()
	defer built.Unlock()
	key := strings.Join(argv, " ")
	if path, ok := built.paths[key]; ok {
		return path
	}
	out := filepath.Join(built.dir, fmt.Sprint("prog", len(built.paths)))
	cmd := exec.Command(tool, append(slices.Clip(argv[1:]), "-o", out)...)
	cmd.Dir = dir
	var msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &msg, &msg
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", key, err, msg.String())
	}
	built.paths[key] = out
	return out
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

// open opens path as a File that the test's end closes.
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

// installed returns a file of the distribution, skipping if it is not there.
func installed(t testing.TB, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed", path)
	}
	return path
}
