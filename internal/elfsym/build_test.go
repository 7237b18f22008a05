package elfsym

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// build runs a compiler that writes to the returned path. A compiler that is
// not installed is a reason to skip, one that fails is not.
func build(t testing.TB, name string, argv ...string) string {
	t.Helper()
	return buildIn(t, "", name, argv)
}

func buildIn(t testing.TB, dir, name string, argv []string) string {
	t.Helper()
	tool, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("no %s on this machine", argv[0])
	}
	out := filepath.Join(t.TempDir(), name)
	cmd := exec.Command(tool, append(slices.Clip(argv[1:]), "-o", out)...)
	cmd.Dir = dir
	var msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &msg, &msg
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, msg.String())
	}
	return out
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
