package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/pctl/sample"
	"ptools/pctl/serve"
)

// TestHostileNames: names of a program with 10,000 letters, with HTML and with terminal controls reach programs
// unchanged, and are harmless on pages and terminals.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "testdata/names.c", "-no-pie"))
	g.Ready() // it has its name
	f := newFixture(t, serve.Options{}, &sample.SamplerOptions{Period: time.Second / 499, Lines: true}, g.PID)
	long := strings.Repeat("letters_10", 1000)
	found := make(map[string]bool)
	for _, fn := range f.profile("/debug/pprof/profile?seconds=1").Function {
		found[fn.Name] = true
	}
	for _, want := range []string{long, "</script><script>alert(1)</script>"} {
		if !found[want] {
			t.Errorf("no function %.40q", want)
		}
	}
	for _, path := range []string{
		"/", "/debug/pprof/", "/metrics", "/targets", "/debug/pprof/flame?seconds=1", "/debug/pprof/goroutine?debug=1", "/debug/pprof/goroutine?debug=2",
		"/debug/pprof/mutex?seconds=0.2&debug=1", "/debug/pprof/threadcreate?debug=1",
	} {
		r, body := f.get(path)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %.200s", path, r.Status, body)
		}
		if i := bytes.IndexFunc(body, func(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }); i >= 0 {
			t.Errorf("%s: control character in %.60q", path, body[max(0, i-20):])
		}
		switch kind := r.Header.Get("Content-Type"); {
		case strings.HasPrefix(kind, "text/html") && (bytes.Contains(body, []byte("<script>alert")) || bytes.Contains(body, []byte("<b>"))):
			t.Errorf("%s: a name is HTML", path)
		case strings.HasPrefix(kind, "application/json"):
			var list []struct{ Labels map[string]string }
			if err := json.Unmarshal(body, &list); err != nil || len(list) != 1 || list[0].Labels["comm"] != "<b>\x1b[31m\"'&\n{}" {
				t.Errorf("%s: %v, %q", path, err, list)
			}
		}
	}
}

// TestGoToolPprof: go tool pprof reads profiles from a server, shows the text of an error, and serves its own page of one.
func TestGoToolPprof(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "1000000", "-u", "800")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	pprof := func(args ...string) *exec.Cmd {
		cmd := exec.Command(ptest.GoTool(t, "pprof"), args...)
		cmd.Env = append(cmd.Environ(), "PPROF_TMPDIR="+t.TempDir())
		return cmd
	}
	for query, want := range map[string]string{"seconds=1": "Type: cpu", "seconds=1e9": "is more than"} {
		out, _ := pprof("-top", f.URL+"/debug/pprof/profile?"+query).CombinedOutput() // the text says whether it was right
		if !strings.Contains(string(out), want) {
			t.Errorf("%s: %s", query, out)
		}
	}
	free, err := net.Listen("tcp", "localhost:0") // the tool does not say which port it has taken
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	cmd := pprof("-http", free.Addr().String(), "-no_browser", f.URL+"/debug/pprof/profile?seconds=0.5")
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ptest.Keep(t, cmd)
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		_, url, ok := strings.Cut(lines.Text(), "web UI on ")
		if !ok {
			continue
		}
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) { // it says so before it listens
			c, err := net.Dial("tcp", free.Addr().String())
			if err == nil {
				c.Close()
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
		for _, page := range []string{"/ui/top", "/ui/flamegraph"} {
			r, err := http.Get(url + page)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if r.StatusCode != http.StatusOK || !strings.Contains(string(body), "main") {
				t.Errorf("%s: %s %.200s", page, r.Status, body)
			}
		}
		return
	}
	t.Error("pprof serves nothing")
}
