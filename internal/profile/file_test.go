package profile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func hello(w io.Writer) error {
	_, err := io.WriteString(w, "hello\n")
	return err
}

func checkDir(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("directory holds %v, want %v", got, want)
	}
}

func TestWriteFileWhole(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out")
	link := filepath.Join(dir, "link")
	if err := WriteFile(file, hello); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("out", link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, func(w io.Writer) error {
		_, err := io.WriteString(w, "again\n")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	checkDir(t, dir, "link", "out")
	data, err := os.ReadFile(file)
	if err != nil || string(data) != "again\n" {
		t.Errorf("file behind the link holds %q, %v", data, err)
	}
	st, err := os.Lstat(file)
	if err != nil || st.Mode() != 0o640 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

func TestWriteFileNotAtAll(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "out")
	if err := WriteFile(file, hello); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("no more")
	if err := WriteFile(file, func(w io.Writer) error {
		io.WriteString(w, "half")
		return cause
	}); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	checkDir(t, dir, "out")
	if data, _ := os.ReadFile(file); string(data) != "hello\n" {
		t.Errorf("the old file holds %q", data)
	}
	missing := filepath.Join(dir, "none", "out")
	if err := WriteFile(missing, hello); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("error %v", err)
	}
}

func TestWriteFileFIFO(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() { // ends when the writer has closed the FIFO
		data, err := os.ReadFile(fifo)
		if err != nil {
			t.Error(err)
		}
		read <- string(data)
	}()
	if err := WriteFile(fifo, hello); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got != "hello\n" {
		t.Errorf("reader got %q", got)
	}
	checkDir(t, dir, "fifo")
}

func TestWriteFileFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	if err := WriteFile("/dev/full", hello); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, want ENOSPC", err)
	}
}

// TestCheckFile: files that WriteFile could not make are known beforehand, and the check leaves no
// trace.
func TestCheckFile(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		old:                             nil,
		filepath.Join(dir, "new"):       nil,
		"/dev/null":                     nil,
		dir:                             syscall.EISDIR,
		filepath.Join(dir, "none", "x"): fs.ErrNotExist,
		filepath.Join(old, "x"):         syscall.ENOTDIR,
	} {
		if err := CheckFile(path); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if b, err := os.ReadFile(old); string(b) != "old" {
		t.Errorf("the file is %q, %v", b, err)
	}
}
