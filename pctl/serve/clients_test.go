package serve_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ptools/internal/ptest"
	"ptools/pctl/serve"
)

// TestPatience: the bound for the reading of an answer does not bound the taking of the profile.
func TestPatience(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	f := newFixture(t, serve.Options{Patience: 100 * time.Millisecond}, nil, g.PID)
	if p := f.profile("/debug/pprof/profile?seconds=0.6"); p.DurationNanos < 6e8 || len(p.Sample) == 0 {
		t.Errorf("%d samples in %v", len(p.Sample), time.Duration(p.DurationNanos))
	}
}

// TestSlowReaders: clients that ask and do not read delay no other client, and are cut off.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t, serve.Options{Patience: time.Second}, nil)
	address := strings.TrimPrefix(f.URL, "http://")
	var gone sync.WaitGroup
	for range 8 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		// The part of the answers that the kernel buffers has to be made first.
		if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		gone.Go(func() { // ends when the server closes the connection, which fills it
			defer c.Close()
			c.SetWriteDeadline(time.Now().Add(2 * time.Minute))
			many := strings.Repeat("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 100)
			for {
				if _, err := io.WriteString(c, many); err != nil {
					if os.IsTimeout(err) {
						t.Error("a client that reads nothing is not cut off")
					}
					return
				}
			}
		})
	}
	for range 20 {
		begun := time.Now()
		if r, body := f.get("/metrics"); r.StatusCode != http.StatusOK || time.Since(begun) > 5*time.Second {
			t.Errorf("%s after %v: %.100s", r.Status, time.Since(begun), body)
		}
	}
	gone.Wait()
}

// TestConnections: connections beyond the limit are closed at once, and there is room again when others have gone.
func TestConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, serve.Options{}, nil)
	l := f.server.Limit(inner, 2)
	served := make(chan error, 1)
	server := &http.Server{Handler: http.NotFoundHandler()}
	go func() { served <- server.Serve(l) }()
	defer func() { server.Close(); <-served }()
	ask := func() (net.Conn, error) {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		_, err = bufio.NewReader(c).ReadString('\n')
		return c, err
	}
	first, err1 := ask()
	second, err2 := ask()
	third, err3 := ask()
	if err1 != nil || err2 != nil || err3 == nil {
		t.Errorf("%v, %v, %v", err1, err2, err3)
	}
	if _, metrics := f.get("/metrics"); !strings.Contains(string(metrics), "psampled_connections_refused_total 1\n") {
		t.Error("the third is not counted")
	}
	third.Close()
	first.Close()
	for deadline := time.Now().Add(5 * time.Second); ; {
		c, err := ask() // the server notices in its time that the first has gone
		c.Close()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no room though one has gone")
		}
	}
	second.Close()
}

// malformed are invalid requests, and the statuses that they may get; 0 is none.
var malformed = []struct {
	text string
	want []int
}{
	{"GET %s/profile?seconds=1e9 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
	{"GET %s/profile?seconds=1 HTTP/1.1\r\nHost: a\r\n\r\n", []int{503}}, // its side of the connection is closed
	{"GET %s/profile?seconds=-1 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
	{"GET %s/profile?seconds=NaN HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
	{"GET %s/profile?seconds=-Inf HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
	{"GET %s/goroutine?debug=99999999999999999999 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
	{"GET %s/../../../../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", []int{301, 307, 404}},
	{"GET /targets/%%2e%%2e%%2f%%2e%%2e%%2fetc%%2fpasswd/debug/pprof/cmdline HTTP/1.1\r\nHost: a\r\n\r\n", []int{404}},
	{"GET /targets/\u202e\u0661\u0662/debug/pprof/profile HTTP/1.1\r\nHost: a\r\n\r\n", []int{404}},
	{"GET ../../etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
	{"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", []int{400}},
	{"GET /healthz HTTP/1.0\r\n\r\n", []int{200}},
	{"GET /healthz\r\n", []int{400}},
	{"GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n", []int{505}},
	{"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", []int{200}},
	{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", []int{400, 404, 405, 505}},
	{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", []int{400}},
	{"DELETE %s/profile HTTP/1.1\r\nHost: a\r\n\r\n", []int{404, 405}},
	{"POST %s/symbol HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", []int{400}},
	{"POST %s/symbol HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000000000\r\n\r\nabc", []int{413}},
	{"POST %s/symbol HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\nabc", []int{400}},
	{"POST %s/symbol HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n" + strings.Repeat("A", 2<<20) + "\r\n0\r\n\r\n", []int{413, 0}},
	{"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("A", 2<<20) + "\r\n\r\n", []int{431, 0}},
	{"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 20_000) + "\r\n", []int{431, 0}},
}

// TestMalformed: a client with an invalid request gets a clear answer or none, even if it closes its side of the
// connection.
func TestMalformed(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	address := strings.TrimPrefix(f.URL, "http://")
	var clients sync.WaitGroup
	for i := range 4 * len(malformed) {
		clients.Go(func() { attack(t, address, i%len(malformed)) })
		clients.Go(func() { random(t, address) })
	}
	clients.Wait()
	f.profile("/debug/pprof/profile?seconds=0.2")
}

// say sends text, and returns the status of the answer, 0 if there is none.
func say(t *testing.T, address, text string) int {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, text) // the server may answer before it has read all
	c.(*net.TCPConn).CloseWrite()
	line, err := bufio.NewReader(io.LimitReader(c, 1<<10)).ReadString('\n')
	if os.IsTimeout(err) {
		t.Errorf("no answer and no end of the connection after %.60q", text)
	}
	var status int
	fmt.Sscanf(line, "HTTP/1.%d %d", new(int), &status)
	return status
}

func attack(t *testing.T, address string, i int) {
	text := malformed[i].text
	if strings.Contains(text, "%") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "%s", "/debug/pprof"), "%%", "%")
	}
	got := say(t, address, text)
	for _, want := range malformed[i].want {
		if got == want {
			return
		}
	}
	t.Errorf("%.60q: status %d, want one of %v", text, got, malformed[i].want)
}

func random(t *testing.T, address string) {
	b := make([]byte, 4096)
	rand.Read(b)
	if status := say(t, address, string(b)+"\r\n\r\n"); status != 400 && status != 0 {
		t.Errorf("random bytes: status %d", status)
	}
}

// TestStalledLoop: /healthz says which loop does not move. A loop that need not move is healthy.
func TestStalledLoop(t *testing.T) {
	at := map[string]time.Time{"idle": {}, "busy": time.Now(), "late": time.Now()}
	loops := make(map[string]func() time.Time)
	for name := range at {
		loops[name] = func() time.Time { return at[name] }
	}
	f := newFixture(t, serve.Options{Loops: loops}, nil)
	for _, want := range []struct {
		ago    time.Duration
		status int
		body   string
	}{{0, 200, "ok\n"}, {time.Minute, 503, "late: has not moved for 60 s\n"}} {
		at["late"] = time.Now().Add(-want.ago)
		a, err := http.Get(f.URL + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != want.status || string(body) != want.body {
			t.Errorf("%d %q, want %d %q", a.StatusCode, body, want.status, want.body)
		}
	}
}
