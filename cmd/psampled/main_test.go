package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) {
	ptest.ThreadSlack += ownThreads // which tests take that call run
	ptest.CommandMain(m, "psampled", main)
}

// running is a psampled.
type running struct {
	t   testing.TB
	cmd *exec.Cmd
	url string

	pipe io.ReadCloser // its standard error
	err  *bufio.Scanner
}

// start starts psampled and waits until it serves.
func start(t testing.TB, args ...string) *running {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "psampled")
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	r := launch(t, exec.Command(link, append([]string{"-l", "localhost:0"}, args...)...))
	r.url = r.await(`served at (\S+)/$`)
	return r
}

// launch starts a command, which is a psampled.
func launch(t testing.TB, cmd *exec.Cmd) *running {
	t.Helper()
	r := &running{t: t, cmd: cmd}
	var err error
	if r.pipe, err = cmd.StderrPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ptest.Keep(t, cmd)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	r.err = bufio.NewScanner(r.pipe)
	return r
}

// await reads lines until one matches, and returns the match of the first group.
func (r *running) await(pattern string) string {
	r.t.Helper()
	re := regexp.MustCompile(pattern)
	var seen []string
	for r.err.Scan() {
		if m := re.FindStringSubmatch(r.err.Text()); m != nil {
			return m[len(m)-1]
		}
		seen = append(seen, r.err.Text())
	}
	r.t.Fatalf("no line with %s in %q", pattern, seen)
	return ""
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	return r.getBy(http.DefaultClient, path)
}

func (r *running) getBy(client *http.Client, path string) (int, string) {
	r.t.Helper()
	a, err := client.Get(r.url + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer a.Body.Close()
	b, _ := io.ReadAll(a.Body)
	return a.StatusCode, string(b)
}

// TestServe: a profile is served; a signal ends it with status 0.
func TestServe(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	r := start(t, "-p", fmt.Sprint(g.PID), "-F", "499")
	if status, body := r.get("/debug/pprof/profile?seconds=0.3"); status != 200 || len(body) < 100 {
		t.Errorf("%d %.100q", status, body)
	}
	if status, body := r.get("/healthz"); status != 200 || body != "ok\n" {
		t.Errorf("%d %q", status, body)
	}
	r.cmd.Process.Signal(syscall.SIGTERM)
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
}

// TestReload: SIGHUP reads the file again. An invalid file is refused with its line, and changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, "sleep", "600")
	file := filepath.Join(t.TempDir(), "c.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("targets:\n  - comm: none-of-that\n")
	r := start(t, "-c", file)
	hup := func(text string) {
		write(text)
		r.cmd.Process.Signal(syscall.SIGHUP)
	}
	if _, body := r.get("/targets"); body != "[]" {
		t.Errorf("%s", body)
	}
	hup(fmt.Sprintf("targets:\n  - pid: %d\n", g.PID))
	r.await(`reloaded: 1 process`)
	if _, body := r.get("/targets"); !strings.Contains(body, fmt.Sprintf(`"pid":"%d"`, g.PID)) {
		t.Errorf("%s", body)
	}
	hup("targets:\n  - comm: x\n    colour: red\n")
	if line := r.await(`not reloaded: (.*)`); line != file+`:3: unknown key "colour"` {
		t.Errorf("%s", line)
	}
	if _, body := r.get("/targets"); !strings.Contains(body, fmt.Sprintf(`"pid":"%d"`, g.PID)) {
		t.Errorf("after a wrong file: %s", body)
	}
}

// TestHelp: every flag is in the help text as it is spelt.
func TestHelp(t *testing.T) {
	new(rawFlags).define().VisitAll(func(f *pflag.Flag) {
		want := "--" + f.Name
		if f.Shorthand != "" {
			want = "-" + f.Shorthand + ", " + want
		}
		if !strings.Contains(help, want) {
			t.Errorf("help has no %s", want)
		}
	})
	var out, errs bytes.Buffer
	for _, args := range [][]string{{"--help"}, {"--version"}, {"--print", "man"}, {"--print=fish"}} {
		if status := run(t.Context(), args, &out, &errs); status != 0 || out.Len() == 0 || errs.Len() > 0 {
			t.Errorf("%v: %d, %s", args, status, &errs)
		}
		out.Reset()
	}
}

// TestUsage: settings that are impossible or not safe are refused with status 2 and a line that says why.
func TestUsage(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "what to profile?"},
		{"--follow", "--follow is about"},
		{"-p -x", `"-x" is not a process id`},
		{"-p 1 spare", `unexpected argument "spare"`},
		{"-m colour=red", "unknown key"},
		{"-p 1 -F 0", "rate"},
		{"-p 1 -F 1e9", "rate"},
		{"-p 1 --timers maybe", "maybe"},
		{"-p 1 --max-seconds -3", "--max-seconds"},
		{"-p 1 --max-clients 0", "--max-clients"},
		{"-p 1 -l 6070", "HOST:PORT"},
		{"-p 1 -l :6070", "needs --token-file or --tls-client-ca"},
		{"-p 1 -l 0.0.0.0:6070", "needs --token-file"},
		{"-p 1 -l :6070 --socket s", "one of them"},
		{"-p 1 --socket @s", "name a file"},
		{"-p 1 --socket s --socket-mode 0888", "octal"},
		{"-p 1 --socket " + strings.Repeat("s", 108), "at most 107 bytes"},
		{"-p 1 --tls-cert x", "need each other"},
		{"-p 1 --tls-client-ca x", "--tls-cert"},
		{"--print tea", "tea"},
	} {
		var out, errs bytes.Buffer
		if status := run(t.Context(), strings.Fields(c.args), &out, &errs); status != 2 || !strings.Contains(errs.String(), c.want) ||
			!strings.HasSuffix(errs.String(), "try 'psampled --help'\n") {
			t.Errorf("%s: %d, %q", c.args, status, errs.String())
		}
	}
	var out, errs bytes.Buffer
	if status := run(t.Context(), []string{"-p", "999999999", "-l", "localhost:0"}, &out, &errs); status != 1 || !strings.Contains(errs.String(), "is not there") {
		t.Errorf("no such process: %d, %q", status, errs.String())
	}
	errs.Reset()
	if status := run(t.Context(), []string{"-c", "/absent\x1b[31m\n"}, &out, &errs); status != 1 || strings.Contains(errs.String(), "\x1b") || strings.Count(errs.String(), "\n") != 1 {
		t.Errorf("no such file: %d, %q", status, errs.String())
	}
}

// TestKilled: psampled is killed while it samples, with timers and with stops, and its target works on.
func TestKilled(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	for i := range ptest.Rounds(6, 20, 100) {
		timers := []string{"auto", "off"}[i%2]
		r := start(t, "-p", fmt.Sprint(g.PID), "-F", "999", "--timers", timers)
		asked := make(chan struct{})
		go func() { // ends when psampled does
			defer close(asked)
			if a, err := http.Get(r.url + "/debug/pprof/wall?seconds=60"); err == nil {
				a.Body.Close()
			}
		}()
		for metrics := ""; !strings.Contains(metrics, "psampled_sampled_processes 1\n"); { // reading the metrics takes a varying time
			_, metrics = r.get("/metrics")
		}
		time.Sleep(time.Duration(i*7%50) * time.Millisecond) // the kill comes at any moment of a round
		r.cmd.Process.Kill()
		<-asked
		r.cmd.Wait()
	}
	before := ticks(t, g.PID)
	for deadline := time.Now().Add(10 * time.Second); ticks(t, g.PID) == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not run any more")
		}
	}
}

// ticks returns the processor time of a process that is not stopped.
func ticks(t *testing.T, pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	fields := strings.Fields(rest)
	if fields[0] == "T" || fields[0] == "t" || fields[0] == "Z" {
		t.Fatalf("state %s", fields[0])
	}
	return fields[11] + " " + fields[12]
}

// TestReloadTerms: SIGHUP takes over another token and another bound for profiles, and says which settings it cannot take
// over. No access is opened by that: if a file asks for loopback and no token, a server that serves other machines keeps
// its token.
func TestReloadTerms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, token := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "token")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const targets = "targets:\n  - comm: none-of-that\n"
	terms := "token_file: " + token + "\n" + targets
	write(token, "first\n")
	write(file, terms)
	r := start(t, "-c", file, "-l", "0.0.0.0:0")
	status := func(token, path string) int {
		q, err := http.NewRequest("GET", r.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.SetBasicAuth("", token)
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	expect := func(token, path string, want int) {
		t.Helper()
		if got := status(token, path); got != want {
			t.Errorf("%q, %s: %d, want %d", token, path, got, want)
		}
	}
	hup := func(pattern string) string {
		r.cmd.Process.Signal(syscall.SIGHUP)
		return r.await(pattern)
	}
	expect("first", "/targets", 200)
	write(token, "second\n")
	write(file, "rate: 7\nmax_clients: 3\n"+terms)
	if keys := hup(`needs a restart to change: (.*)`); keys != "rate, max_clients" {
		t.Errorf("%s", keys)
	}
	r.await(`reloaded: (0) processes`)
	expect("first", "/targets", 401)
	expect("second", "/targets", 200)
	write(token, "\n")
	hup(`not reloaded: .*(has no token in it)`)
	expect("second", "/targets", 200)
	expect("", "/targets", 401)
	write(file, targets) // with -l it still serves others
	hup(`not reloaded: .*(needs --token-file or --tls-client-ca)`)
	expect("", "/targets", 401)
}
