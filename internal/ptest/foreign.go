package ptest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// interpose makes cmd run its program through testdata/starter.c: the program is the starter's child
// then. The returned function returns the program's PID once cmd has been started.
func interpose(t testing.TB, cmd *exec.Cmd) (pid func() (int, error)) {
	t.Helper()
	starter := BuildC(t, "starter.c")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append([]string{starter, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = starter
	cmd.ExtraFiles = []*os.File{w} // descriptor 3
	return func() (int, error) {
		w.Close()
		defer r.Close()
		var pid int
		_, err := fmt.Fscan(r, &pid)
		return pid, err
	}
}
