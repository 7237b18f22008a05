package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestHTTP: the page and pprof's own pages show the profile that was taken, to this machine only, until ^C.
func TestHTTP(t *testing.T) {
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "1000000")
	cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "-q", "--http", ":0", "-t", "0.5", "-p", fmt.Sprint(g.PID))
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	m := regexp.MustCompile(`^psample: (http://localhost:\d+)/ has flame graphs, http://localhost:\d+/pprof/ has pprof; \^C ends\n$`).FindStringSubmatch(line)
	if err != nil || m == nil {
		cmd.Process.Kill()
		t.Fatalf("%q, %v", line, err)
	}
	get := func(path, host string) (int, string) {
		req, err := http.NewRequest("GET", m[1]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			req.Host = host
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		return r.StatusCode, string(b)
	}
	for path, want := range map[string]string{
		"/": `"mix_round"`, "/pprof/top": "mix_round", "/pprof/flamegraph": "mix_round", "/pprof/peek?f=fifty": "fifty",
	} {
		if status, body := get(path, ""); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: status %d, %.200q", path, status, body)
		}
	}
	if status, body := get("/", "evil.example:80"); status != http.StatusForbidden || strings.Contains(body, "mix") {
		t.Errorf("by a name from elsewhere: status %d, %.100q", status, body)
	}
	if status, _ := get("/etc/passwd", ""); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
	cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
