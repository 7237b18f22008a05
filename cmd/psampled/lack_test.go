package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// inShell starts psampled from a shell that executes some commands first, and does not wait for it.
func inShell(t *testing.T, before string, args ...string) *running {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "psampled")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	return launch(t, exec.Command("sh", append([]string{"-c", before + `; exec "$0" "$@"`, link}, args...)...))
}

// metric returns a value of /metrics.
func (r *running) metric(name string) float64 {
	r.t.Helper()
	_, text := r.get("/metrics")
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		r.t.Fatalf("no metric %s", name)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

// TestFewDescriptors: with 40 descriptors, 16 targets and 8 clients at a time, clients for which there is no descriptor
// are told so, and counted. No target counts as ended, and none is harmed. Afterwards each is served.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	mix := ptest.BuildC(t, "mix.c")
	for _, timers := range []string{"auto", "off"} {
		t.Run(timers, func(t *testing.T) {
			args := []string{"-l", "localhost:0", "--timers", timers}
			busy := ptest.Start(t, mix, "-n", "100000", "-u", "800")
			list := []int{busy.PID}
			for range 15 {
				list = append(list, ptest.Start(t, "sleep", "600").PID)
			}
			for _, pid := range list {
				args = append(args, "-p", fmt.Sprint(pid))
			}
			r := inShell(t, "ulimit -n 40", args...)
			r.url = r.await(`served at (\S+)/$`)
			lacking := r.storm(list)
			if n := r.metric("psampled_lacking_total"); lacking == 0 || n < float64(lacking) {
				t.Errorf("%d clients were told of descriptors, %v counted", lacking, n)
			}
			for _, pid := range list {
				status, body := 503, ""
				for deadline := time.Now().Add(10 * time.Second); status == 503 && time.Now().Before(deadline); { // the descriptors of the last requests are being closed
					status, body = r.get(fmt.Sprintf("/targets/%d/debug/pprof/wall?seconds=0.1", pid))
				}
				if status != 200 {
					t.Errorf("afterwards: %d %s", status, body)
				}
			}
			before := ticks(t, busy.PID)
			for deadline := time.Now().Add(10 * time.Second); ticks(t, busy.PID) == before; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the busy one does not run any more")
				}
			}
		})
	}
}

// storm has eight clients at a time request each process twice. It returns how many were told that there was no
// descriptor.
func (r *running) storm(list []int) (lacking int) {
	asked := make(chan int)
	var mu sync.Mutex
	var clients sync.WaitGroup
	const together = 8
	transport := &http.Transport{MaxIdleConnsPerHost: together} // each keeps its connection: of more than ten connections some are refused
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for range together {
		clients.Go(func() {
			for pid := range asked {
				status, body := r.getBy(client, fmt.Sprintf("/targets/%d/debug/pprof/wall?seconds=0.%d", pid, ptest.Rounds(3, 9, 9)))
				switch {
				case status == 503 && strings.Contains(body, "too many open files") && strings.Contains(body, "ulimit -n"):
					mu.Lock()
					lacking++
					mu.Unlock()
				case status != 200:
					r.t.Errorf("%d %s", status, body)
				}
			}
		})
	}
	for range 2 {
		for _, pid := range list {
			asked <- pid
		}
	}
	close(asked)
	clients.Wait()
	return lacking
}

// TestFlood: clients that open connections and send nothing get a quarter of the descriptors. Further connections are
// closed and counted. There is room again when the clients have gone.
func TestFlood(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	r := inShell(t, "ulimit -n 40", "-l", "localhost:0", "-p", fmt.Sprint(g.PID))
	r.url = r.await(`served at (\S+)/$`)
	http.DefaultClient.CloseIdleConnections()
	var idle []net.Conn
	for range 100 {
		c, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	open := 0
	for _, c := range idle[90:] {
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == io.EOF {
			open++
		}
	}
	if open != 10 {
		t.Errorf("%d of the last 10 were closed", open)
	}
	for _, c := range idle {
		c.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		a, err := http.Get(r.url + "/debug/pprof/profile?seconds=0.2")
		if err == nil {
			a.Body.Close()
			if a.StatusCode == 200 {
				break
			}
			t.Fatal(a.Status)
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if n := r.metric("psampled_connections_refused_total"); n < 89 || n > 200 {
		t.Errorf("%v connections refused", n)
	}
}

// TestNothingWritten: psampled serves and pushes if no byte may be written into a file. Its standard error is a full
// device, a pipe whose reader has gone, or a full pipe whose reader does not read. SIGTERM ends it with status 0.
func TestNothingWritten(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	for name, before := range map[string]string{"full": "exec 2>/dev/full", "gone": ":", "still": "head -c 65536 /dev/zero >&2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "c.yaml")
			config := fmt.Sprintf("targets: [{pid: %d}]\n", g.PID)
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			addr := l.Addr().String()
			l.Close()
			r := inShell(t, "ulimit -f 0; "+before, "-l", addr, "-c", file, "--push", "http://127.0.0.1:1")
			if r.url = "http://" + addr; name == "gone" {
				r.await(`served at (\S+)/$`)
				r.pipe.Close()
			}
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if a, err := http.Get(r.url + "/healthz"); err == nil {
					a.Body.Close()
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("it does not serve")
				}
			}
			for n := 1; n <= 2; n++ { // each is reported on standard error
				if err := os.WriteFile(file, []byte(config+fmt.Sprintf("max_seconds: %d\n", 10*n)), 0o600); err != nil {
					t.Fatal(err)
				}
				r.cmd.Process.Signal(syscall.SIGHUP)
				for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
					if _, body := r.get("/debug/pprof/profile?seconds=1000"); strings.Contains(body, fmt.Sprintf("more than the %ds", 10*n)) {
						break
					}
					if time.Now().After(deadline) {
						t.Fatal("not reloaded")
					}
				}
			}
			if status, body := r.get("/debug/pprof/wall?seconds=0.2"); status != 200 {
				t.Errorf("%d %s", status, body)
			}
			r.cmd.Process.Signal(syscall.SIGTERM)
			if err := r.cmd.Wait(); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
}
