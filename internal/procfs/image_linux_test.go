package procfs

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"syscall"
	"testing"
)

// TestImage follows a shell through its exec and its end, by either file.
func TestImage(t *testing.T) {
	cmd := exec.Command("sh", "-c", "echo first; read x; exec sh -c 'echo second; read x'")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	pid := cmd.Process.Pid
	lines := bufio.NewScanner(out)
	open := func() [2]*Image {
		t.Helper()
		cheap, err1 := OpenImage(pid)
		plain, err2 := openImage(path{}, processPath(pid, "maps"))
		if err := errors.Join(err1, err2); err != nil || plain == nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cheap.Close(); plain.Close() })
		if cheap.maps || !plain.maps {
			t.Errorf("pagemap is not used, or is where it cannot be opened")
		}
		return [2]*Image{cheap, plain}
	}
	want := func(images [2]*Image, current bool) {
		t.Helper()
		for n, i := range images {
			if i.Current() != current {
				t.Errorf("Current() by file %d is %v", n, !current)
			}
		}
	}
	lines.Scan()
	first := open()
	want(first, true)
	io.WriteString(in, "go on\n")
	lines.Scan()
	second := open()
	want(first, false)
	want(second, true)
	cmd.Process.Kill()
	cmd.Process.Wait()
	want(second, false)
	if _, err := OpenImage(pid); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("OpenImage of no process: %v", err)
	}
}
