package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptools/internal/procfs"
	"ptools/internal/ptest"
)

// nginxOfTwo serves a page, which it compresses, with two workers.
const nginxOfTwo = `daemon off; user root; worker_processes 2; pid nginx.pid; error_log stderr crit;
events { worker_connections 64; }
http {
	access_log off; gzip on; gzip_types text/plain;
	client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
	server { listen 127.0.0.1:%s reuseport; root %s; }
}
`

// TestPreforkOfTheZoo: a shell script starts a server that forks its workers. All are in one profile, with timers and
// without. Each worker has its processor time by the kernel's account.
func TestPreforkOfTheZoo(t *testing.T) {
	ptest.Zoo(t)
	ptest.Need(t, "nginx")
	for _, timers := range []string{"auto", "off"} {
		t.Run("timers "+timers, func(t *testing.T) { testPrefork(t, timers) })
	}
}

func testPrefork(t *testing.T, timers string) {
	dir := t.TempDir()
	port := unusedPort(t)
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("page.txt", strings.Repeat("a line of a page\n", 4000))
	config := write("nginx.conf", fmt.Sprintf(nginxOfTwo, port, dir))
	script := write("script", fmt.Sprintf("echo begins\nnginx -p %s -c %s\necho ends with $?\nexit 5\n", dir, config))
	out := filepath.Join(dir, "profile.json")
	cmd := exec.Command(filepath.Join(psampleDir(t), "psample"), "--follow", "--timers", timers, "-q", "-o", out, "--", "/bin/sh", script)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() // if it has not ended
	request(t, "http://127.0.0.1:"+port+"/page.txt", time.Second)
	text, err := os.ReadFile(filepath.Join(dir, "nginx.pid"))
	if err != nil {
		t.Fatal(err)
	}
	master, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	workers, _ := procfs.Children(master, master)
	used := map[int]float64{}
	for _, pid := range workers {
		used[pid] = ranFor(t, pid)
	}
	syscall.Kill(master, syscall.SIGTERM)
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != 5 || said.String() != "begins\nends with 0\n" {
		t.Errorf("exit status %d, %q", status, said.String())
	}
	p := treeOf(t, out)
	var names []string
	for _, q := range p.Processes {
		names = append(names, q.Command)
	}
	if got := strings.Join(names, " "); got != "sh nginx nginx nginx" {
		t.Fatalf("processes %s", got)
	}
	for _, q := range p.Processes[2:] {
		want := used[q.PID]
		if q.PPID != master || want < 20e6 || q.CPU < want || q.CPU > want+30e6 {
			t.Errorf("worker %d, made by %d (the master is %d): %.0f ms, it had used %.0f before its end", q.PID, q.PPID, master, q.CPU/1e6, want/1e6)
		}
		// Processes with few ticks are divided together.
		if in := p.cpuOf(q.PID); in < 0.7*q.CPU || in > 1.3*q.CPU {
			t.Errorf("worker %d: its stacks have %.0f ms of %.0f", q.PID, in/1e6, q.CPU/1e6)
		}
	}
	var inStacks, all float64
	for _, q := range p.Processes[1:] {
		inStacks += p.cpuOf(q.PID)
		all += q.CPU
	}
	if inStacks < 0.98*all || inStacks > 1.02*all {
		t.Errorf("all nginx: their stacks have %.1f ms of %.1f", inStacks/1e6, all/1e6)
	}
}

// request loads a server with many connections for some time, from its first answer on.
func request(t *testing.T, url string, length time.Duration) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	get := func() error {
		r, _ := http.NewRequest("GET", url, nil) // the address is well-formed
		r.Header.Set("Accept-Encoding", "gzip")
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
	for deadline := time.Now().Add(20 * time.Second); get() != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer")
		}
	}
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	for range 4 {
		wg.Go(func() {
			for time.Now().Before(end) {
				if err := get(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// unusedPort returns a port that no process listens on.
func unusedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// ranFor returns the processor time of a process of one thread, in nanoseconds.
func ranFor(t *testing.T, pid int) float64 {
	t.Helper()
	task, err := procfs.OpenTask(pid, pid)
	if err != nil {
		t.Fatal(err)
	}
	defer task.Close()
	s, err := task.SchedStat()
	if err != nil {
		t.Fatal(err)
	}
	return float64(s.Run)
}

// treeProfile is a profile of a tree in JSON.
type treeProfile struct {
	Processes []struct {
		PID     int     `json:"pid"`
		PPID    int     `json:"ppid"`
		Command string  `json:"comm"`
		CPU     float64 `json:"cpu_ns"`
	} `json:"processes"`
	Threads []struct {
		PID int `json:"pid"`
	} `json:"threads"`
	Samples []struct {
		Thread int     `json:"thread"`
		CPU    float64 `json:"cpu_ns"`
	} `json:"samples"`
}

func treeOf(t *testing.T, file string) (p treeProfile) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cpuOf returns the processor time in the stacks of a process.
func (p *treeProfile) cpuOf(pid int) (sum float64) {
	for _, s := range p.Samples {
		if p.Threads[s.Thread].PID == pid {
			sum += s.CPU
		}
	}
	return sum
}
