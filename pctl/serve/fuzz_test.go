package serve_test

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"ptools/pctl/sample"
	"ptools/pctl/serve"
	"ptools/pctl/targets"
)

// one is a set of one target, this program.
type one struct{ target *targets.Target }

func (o one) Targets() []*targets.Target  { return []*targets.Target{o.target} }
func (o one) Find(string) *targets.Target { return nil }

// FuzzRequest: no request makes the server panic, answer 500 or take longer than it may.
func FuzzRequest(f *testing.F) {
	for _, path := range []string{
		"/", "/targets", "/healthz", "/metrics", "/debug/pprof/profile?seconds=0.001", "/targets/1-2/debug/pprof/wall?seconds=%zz",
		"/debug/pprof/symbol?0x1+0x2", "/debug/pprof/cmdline?debug=1", "//../etc/passwd", "/debug/pprof/goroutine?debug=99999999999999999999",
	} {
		f.Add([]byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"))
	}
	f.Add([]byte("POST /debug/pprof/symbol HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n0x1+0x2"))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: [::1]:x\r\nAuthorization: Basic !!\r\n\r\n"))
	sampler, err := sample.Open(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { sampler.Close() })
	s := serve.New(serve.Options{Sampler: sampler, Targets: one{&targets.Target{PID: 1 << 30}}, Terms: serve.Terms{Longest: 1}})
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
	})
}
