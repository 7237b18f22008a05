package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptools/internal/ptest"
)

// startAt starts psampled at a socket.
func startAt(t *testing.T, socket string, args ...string) *running {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "psampled")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	r := launch(t, exec.Command(link, append([]string{"--socket", socket}, args...)...))
	r.await(`served at the socket (` + socket + `), mode`)
	r.url = "http://psampled"
	return r
}

// TestSocket: the socket has its rights; one that was left behind is replaced, one in use and a file
// are not; and it is removed at the end.
func TestSocket(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, "sleep", "600")
	pid := fmt.Sprint(g.PID)
	dir, err := os.MkdirTemp("", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket, file := filepath.Join(dir, "s"), filepath.Join(dir, "file")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	for _, mode := range []os.FileMode{0o600, 0o666} {
		args := []string{"-p", pid}
		if mode != 0o600 { // the default
			args = append(args, fmt.Sprintf("--socket-mode=%o", mode))
		}
		r := startAt(t, socket, args...)
		if st, err := os.Stat(socket); err != nil || st.Mode() != os.ModeSocket|mode {
			t.Fatalf("%v, %v", st.Mode(), err)
		}
		if status, body := r.getBy(client, "/targets"); status != 200 || !strings.Contains(body, pid) {
			t.Errorf("%d %s", status, body)
		}
		if status, err := refused(t, socket, pid); status != 1 || !strings.Contains(err, "a program serves at "+socket) {
			t.Errorf("%d, %s", status, err)
		}
		if mode == 0o600 {
			r.cmd.Process.Kill() // its socket stays, and is replaced by the next
		} else {
			r.cmd.Process.Signal(syscall.SIGTERM)
		}
		r.cmd.Wait()
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, err := refused(t, file, pid); status != 1 || !strings.Contains(err, "no socket") {
		t.Errorf("%d, %s", status, err)
	}
	if b, err := os.ReadFile(file); string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
}

// refused starts psampled at a socket that it cannot have.
func refused(t *testing.T, socket, pid string) (int, string) {
	t.Helper()
	var out, errs strings.Builder
	return run(t.Context(), []string{"--socket", socket, "-p", pid}, &out, &errs), errs.String()
}
