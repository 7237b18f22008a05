package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// served is a psample that serves.
type served struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *bufio.Reader
	url    string
}

// serve starts psample with --http and waits for its address.
func serve(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{t: t, cmd: exec.Command(filepath.Join(psampleDir(t), "psample"), append([]string{"--http", ":0"}, args...)...)}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ptest.Keep(t, s.cmd)
	s.stderr = bufio.NewReader(stderr)
	line, err := s.stderr.ReadString('\n')
	m := regexp.MustCompile(`^psample: (http://localhost:\d+)/ has flame graphs, http://localhost:\d+/pprof/ has pprof; \^C ends\n$`).FindStringSubmatch(line)
	if err != nil || m == nil {
		s.cmd.Process.Kill()
		s.cmd.Wait()
		t.Fatalf("%q, %v", line, err)
	}
	s.url = m[1]
	return s
}

// until reads lines of standard error to one with a text.
func (s *served) until(text string) {
	s.t.Helper()
	for {
		line, err := s.stderr.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%v before %q", err, text)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

func (s *served) get(path, host string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest("GET", s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Do(req)
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	return r.StatusCode, string(b)
}

func (s *served) end() {
	s.t.Helper()
	s.cmd.Process.Signal(os.Interrupt)
	io.Copy(io.Discard, s.stderr)
	if err := s.cmd.Wait(); err != nil {
		s.t.Error(err)
	}
}

// named waits until a state has a name of the target.
func (s *served) named() {
	s.t.Helper()
	for body := ""; !strings.Contains(body, `"mix_round"`) || !strings.Contains(body, `"fifty"`); time.Sleep(10 * time.Millisecond) {
		if _, body = s.get("/data.json", ""); body == "" {
			s.t.FailNow()
		}
	}
}

// pages checks that every page shows the profile.
func (s *served) pages(when string) {
	s.t.Helper()
	for path, want := range map[string]string{
		"/": `"mix_round"`, "/data.json": `"mix_round"`, "/pprof/top": "mix_round", "/pprof/flamegraph": "mix_round",
		"/pprof/peek?f=fifty": "fifty", "/pprof/source?f=fifty": "mix.c",
	} {
		if status, body := s.get(path, ""); status != 200 || !strings.Contains(body, want) {
			s.t.Errorf("%s %s: status %d, %.200q", when, path, status, body)
		}
	}
}

// state returns how many samples the present page has, and whether more will come.
func (s *served) state() (samples int64, live bool) {
	s.t.Helper()
	var data struct {
		Live   float64
		Counts [][]int64
	}
	_, body := s.get("/data.json", "")
	if err := json.Unmarshal([]byte(body), &data); err != nil {
		s.t.Fatalf("%v: %.200q", err, body)
	}
	for _, n := range data.Counts[2] {
		samples += n
	}
	return samples, data.Live > 0
}

// TestHTTP: the page and pprof's own pages show the profile while it is taken and afterwards, to this machine only, until
// ^C. A ^C before the end of the sampling ends the sampling.
func TestHTTP(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000000", "-u", "800")
	s := serve(t, "-p", fmt.Sprint(g.PID))
	s.named()
	s.pages("while sampling")
	before, _ := s.state()
	for now := before; now <= before; time.Sleep(10 * time.Millisecond) {
		var live bool
		if now, live = s.state(); !live {
			t.Fatal("sampling has ended")
		}
	}
	s.cmd.Process.Signal(os.Interrupt)
	s.until("sampling has ended")
	all, live := s.state()
	if live || all <= before {
		t.Errorf("in the end %d samples, there were %d; live: %v", all, before, live)
	}
	s.pages("in the end")
	if again, _ := s.state(); again != all {
		t.Errorf("%d samples, then %d", all, again)
	}
	for path, want := range map[string]int{
		"/etc/passwd": http.StatusNotFound, "/pprof/saveconfig?config=x": http.StatusNotFound, "/pprof/deleteconfig?config=x": http.StatusNotFound,
	} {
		if status, _ := s.get(path, ""); status != want {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if status, body := s.get("/", "evil.example:80"); status != http.StatusForbidden || strings.Contains(body, "mix") {
		t.Errorf("by a name from elsewhere: status %d, %.100q", status, body)
	}
	s.end()
}

// TestHTTPAtOnce: many clients get states of the profile at the same time. Neither they nor a target that ends
// meanwhile disturb the making of a state.
func TestHTTPAtOnce(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000000", "-u", "800")
	s := serve(t, "-q", "-F", "999", "-p", fmt.Sprint(g.PID))
	s.named()
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for range 5 {
				path := []string{"/", "/data.json", "/pprof/top"}[i%3]
				if status, body := s.get(path, ""); status != 200 || !strings.Contains(body, "mix_round") {
					t.Errorf("%s: status %d, %.100q", path, status, body)
				}
			}
		})
	}
	g.Kill()
	clients.Wait()
	for _, live := s.state(); live; time.Sleep(10 * time.Millisecond) {
		_, live = s.state()
	}
	s.end()
}

// TestHTTPCreations: a profile that has nothing to show before the end says so.
func TestHTTPCreations(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "busyidle.c"), "-b", "1", "-u", "400")
	g.Ready()
	s := serve(t, "--threadcreate", "-t", "1", "-p", fmt.Sprint(g.PID))
	if status, body := s.get("/", ""); status != 200 || !strings.Contains(body, "still counting") {
		t.Errorf("status %d, %q", status, body)
	}
	s.until("sampling has ended")
	if status, body := s.get("/", ""); status != 200 || !strings.Contains(body, "threads created") {
		t.Errorf("status %d, %.100q", status, body)
	}
	s.end()
}

// TestSourceIsGuarded: files that a profile names are shown on this machine only, and not if another user's program
// has named them.
func TestSourceIsGuarded(t *testing.T) {
	source := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secret") })
	for _, test := range []struct {
		from  string
		reads bool
		want  int
	}{
		{"127.0.0.1:5000", true, 200}, {"[::1]:5000", true, 200}, {"127.0.0.1:5000", false, 403},
		{"192.0.2.1:5000", true, 403}, {"[2001:db8::1]:5000", true, 403}, {"", true, 403},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/source", nil)
		r.RemoteAddr = test.from
		guarded(source, test.reads).ServeHTTP(w, r)
		if w.Code != test.want || strings.Contains(w.Body.String(), "secret") != (test.want == 200) {
			t.Errorf("from %q: status %d, %q", test.from, w.Code, w.Body)
		}
	}
	if !ownFiles([]int{os.Getpid()}) {
		t.Error("our own process is another user's")
	}
	g := ptest.Start(t, "sh", "-c", "exec chroot --userspec=65534:65534 / sh -c 'echo ready; exec sleep 1000'")
	g.Ready()
	if ownFiles([]int{os.Getpid(), g.PID}) {
		t.Error("a program of another user may say which files are shown")
	}
}

// TestHosts: a client whose host name is not ours is refused.
func TestHosts(t *testing.T) {
	at := func(addr, host string) *server {
		ip, port, _ := net.SplitHostPort(addr)
		var n int
		fmt.Sscan(port, &n)
		return &server{host: host, listener: fakeListener{&net.TCPAddr{IP: net.ParseIP(ip), Port: n}}}
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		s     *server
		asked string
		want  bool
	}{
		{at("127.0.0.1:80", "localhost"), "localhost:80", true},
		{at("127.0.0.1:80", "localhost"), "LOCALHOST", true},
		{at("127.0.0.1:80", "localhost"), "[::1]:80", true},
		{at("127.0.0.1:80", "localhost"), "192.0.2.1", false},
		{at("127.0.0.1:80", "localhost"), "evil.example", false},
		{at("127.0.0.1:80", "localhost"), "", false},
		{at("0.0.0.0:80", "0.0.0.0"), "192.0.2.1:80", true},
		{at("0.0.0.0:80", "0.0.0.0"), name, true},
		{at("0.0.0.0:80", "0.0.0.0"), "evil.example", false},
		{at("192.0.2.7:80", "web.example"), "web.example:80", true},
		{at("192.0.2.7:80", "web.example"), "evil.example:80", false},
	} {
		if got := test.s.knows(test.asked); got != test.want {
			t.Errorf("at %v as %s, asked for %q: %v", test.s.listener.Addr(), test.s.host, test.asked, got)
		}
	}
}

type fakeListener struct{ addr net.Addr }

func (l fakeListener) Addr() net.Addr          { return l.addr }
func (fakeListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (fakeListener) Close() error              { return nil }

// TestHTTPEnds: SIGTERM and SIGHUP, which ask a service to end, end the sampling and the pages.
func TestHTTPEnds(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000000", "-u", "800")
		s := serve(t, "-p", fmt.Sprint(g.PID))
		s.named()
		s.cmd.Process.Signal(sig)
		io.Copy(io.Discard, s.stderr)
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
	}
}
