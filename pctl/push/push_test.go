package push

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/pprof/profile"

	"ptools/internal/ptest"
)

func TestMain(m *testing.M) { ptest.Main(m) }

// example is a profile of two stacks with one function in common, and a name that is no UTF-8.
func example() *profile.Profile {
	m := &profile.Mapping{ID: 1, Start: 0x400000, Limit: 0x500000, File: "/bin/work", BuildID: "abcd"}
	fn := func(id uint64, name string) *profile.Function {
		return &profile.Function{ID: id, Name: name, SystemName: name, Filename: "work.c"}
	}
	mainFn, hash, odd := fn(1, "main"), fn(2, "hash"), fn(3, "odd\xff")
	at := func(id uint64, f *profile.Function) *profile.Location {
		return &profile.Location{ID: id, Mapping: m, Address: 0x400000 + id, Line: []profile.Line{{Function: f, Line: int64(id)}}}
	}
	outer, inner, other := at(1, mainFn), at(2, hash), at(3, odd)
	return &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 1e7,
		TimeNanos: 1_700_000_000e9, DurationNanos: 10e9,
		Mapping: []*profile.Mapping{m}, Function: []*profile.Function{mainFn, hash, odd}, Location: []*profile.Location{outer, inner, other},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{inner, outer}, Value: []int64{3, 30e6}, Label: map[string][]string{"thread": {"worker"}}, NumLabel: map[string][]int64{"tid": {7}}},
			{Location: []*profile.Location{other, outer}, Value: []int64{1, 10e6}, Label: map[string][]string{"thread": {"main"}}, NumLabel: map[string][]int64{"tid": {6}}},
			{Location: []*profile.Location{outer}, Value: []int64{1, 0}},
		},
	}
}

func exampleOf(comm string) Profile {
	return Profile{Name: "process_cpu", Labels: map[string]string{"comm": comm, "pid": "42", "pod/name": "a"}, Data: example()}
}

// wait ends p, which must get everything out in time.
func wait(t *testing.T, p *Pusher) Counters {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if n := p.Close(ctx); n != 0 {
		t.Errorf("Close dropped %d profiles; last error %q", n, p.Counters().LastError)
	}
	return p.Counters()
}

// TestPyroscope reads what is pushed strictly by the definition of push.v1.
func TestPyroscope(t *testing.T) {
	type request struct {
		Series []struct {
			Labels []struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"labels"`
			Samples []struct {
				RawProfile []byte `json:"rawProfile"`
				ID         string `json:"ID"`
			} `json:"samples"`
		} `json:"series"`
	}
	var got request
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/base/push.v1.PusherService/Push" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		header = r.Header
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil {
			t.Error(err)
		}
		io.WriteString(w, "{}")
	}))
	defer server.Close()

	address := strings.Replace(server.URL, "http://", "http://user:secret@", 1) + "/base/"
	p, err := New(Config{URL: address, Labels: map[string]string{"comm": "nobody", "region": "\xffx"}, Header: http.Header{"x-scope-orgid": {"us"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Push(exampleOf("work")); err != nil {
		t.Fatal(err)
	}
	if c := wait(t, p); c.Sent != 1 || c.Waiting != 0 || c.Bytes != 0 || c.SentBytes == 0 {
		t.Errorf("counters %+v", c)
	}
	if user, password, _ := (&http.Request{Header: header}).BasicAuth(); user != "user" || password != "secret" || header.Get("X-Scope-OrgID") != "us" ||
		header.Get("Content-Type") != "application/json" {
		t.Errorf("header %v", header)
	}
	if len(got.Series) != 1 || len(got.Series[0].Samples) != 1 || len(got.Series[0].Samples[0].ID) != 36 {
		t.Fatalf("request %+v", got)
	}
	labels := make(map[string]string)
	for _, l := range got.Series[0].Labels {
		labels[l.Name] = l.Value
	}
	for name, want := range map[string]string{"__name__": "process_cpu", "service_name": "work", "comm": "work", "pid": "42", "pod_name": "a", "region": "\uFFFDx"} {
		if labels[name] != want {
			t.Errorf("label %s is %q, not %q", name, labels[name], want)
		}
	}
	back, err := profile.ParseData(got.Series[0].Samples[0].RawProfile)
	if err != nil {
		t.Fatal(err)
	}
	if len(back.Sample) != 3 || back.Function[2].Name != "odd\uFFFD" || back.TimeNanos != example().TimeNanos {
		t.Errorf("profile: %v", back)
	}
}

// answers is a transport that gives one answer after the other, and the last one for ever.
type answers struct {
	mu    sync.Mutex
	list  []answer
	times []time.Time
}

type answer struct {
	status int // 0: no answer
	after  string
	date   string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	a.times = append(a.times, time.Now())
	now := a.list[0]
	if len(a.list) > 1 {
		a.list = a.list[1:]
	}
	if now.status == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{
		StatusCode: now.status, Status: http.StatusText(now.status), Header: http.Header{"Retry-After": {now.after}, "Date": {now.date}},
		Body: io.NopCloser(strings.NewReader("it \x1b[31msays")), Request: r,
	}, nil
}

// TestAgain: which requests are tried again, when, and for how long.
func TestAgain(t *testing.T) {
	for _, tc := range []struct {
		name     string
		answers  []answer
		tries    int // 0: several
		from, to time.Duration
		want     Counters
	}{
		{"taken", []answer{{status: 200}}, 1, 0, 0, Counters{Sent: 1}},
		{"taken later", []answer{{status: 0}, {status: 503}, {status: 200}}, 3, 750 * time.Millisecond, 1500 * time.Millisecond, Counters{Sent: 1, Failures: 2}},
		{"told when", []answer{{status: 429, after: "7"}, {status: 200}}, 2, 7 * time.Second, 7 * time.Second, Counters{Sent: 1, Failures: 1}},
		{"told too late", []answer{{status: 429, after: "3600"}}, 1, 0, 0, Counters{Expired: 1, Failures: 1}},
		{"told a date", []answer{{status: 503, after: "Mon, 02 Jan 2040 03:04:12 GMT", date: "Mon, 02 Jan 2040 03:04:05 GMT"}, {status: 200}},
			2, 7 * time.Second, 7 * time.Second, Counters{Sent: 1, Failures: 1}},
		{"told a date that is over", []answer{{status: 503, after: "Mon, 02 Jan 2040 03:04:00 GMT", date: "Mon, 02 Jan 2040 03:04:05 GMT"}, {status: 200}},
			2, 250 * time.Millisecond, 500 * time.Millisecond, Counters{Sent: 1, Failures: 1}},
		{"told a date without a clock", []answer{{status: 503, after: "Mon, 02 Jan 2040 03:04:12 GMT"}, {status: 200}},
			2, 250 * time.Millisecond, 500 * time.Millisecond, Counters{Sent: 1, Failures: 1}},
		{"refused", []answer{{status: 400}}, 1, 0, 0, Counters{Refused: 1, Failures: 1}},
		{"sent elsewhere", []answer{{status: 307}}, 1, 0, 0, Counters{Refused: 1, Failures: 1}},
		{"not there", []answer{{status: 0}}, 0, 60 * time.Second, 2 * time.Minute, Counters{Expired: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &answers{list: tc.answers}
				p, err := New(Config{URL: "http://server", Transport: a})
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Push(exampleOf("work")); err != nil {
					t.Fatal(err)
				}
				p.Close(context.Background())
				c := p.Counters()
				if tc.tries == 0 {
					tc.want.Failures = int64(len(a.times))
					if c.Failures < 5 || c.Failures > 12 {
						t.Errorf("%d tries", c.Failures)
					}
				} else if len(a.times) != tc.tries {
					t.Errorf("%d tries, not %d", len(a.times), tc.tries)
				}
				if strings.Contains(c.LastError, "\x1b") {
					t.Errorf("error with a control character: %q", c.LastError)
				}
				c.SentBytes, c.LastError = 0, ""
				if c != tc.want {
					t.Errorf("counters %+v\nnot      %+v", c, tc.want)
				}
				if d := a.times[len(a.times)-1].Sub(a.times[0]); d < tc.from || d > tc.to {
					t.Errorf("the last try is %v after the first, not %v to %v", d, tc.from, tc.to)
				}
			})
		})
	}
}

// held is a transport that answers when it is closed.
type held struct{ free chan struct{} }

func (h held) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-h.free:
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// TestOverflow: a server that does not answer costs no more memory than the queue's bound. The oldest requests are
// dropped.
func TestOverflow(t *testing.T) {
	body, err := pyroscope{}.encode(&Profile{Name: "process_cpu", Labels: map[string]string{"comm": "work", "pid": "42", "pod/name": "a", "service_name": "work"}, Data: example()})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		h := held{free: make(chan struct{})}
		bound := 10*len(body) + 50
		p, err := New(Config{URL: "http://server", Transport: h, Queue: bound, Senders: 2, Timeout: time.Hour, Keep: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if err := p.Push(exampleOf("work")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if c := p.Counters(); c.Bytes > int64(bound) {
				t.Fatalf("%d bytes in a queue of %d", c.Bytes, bound)
			}
		}
		if c := p.Counters(); c.Waiting != 10 || c.Overflowed != 90 {
			t.Errorf("counters %+v", c)
		}
		close(h.free)
		p.Close(context.Background())
		if c := p.Counters(); c.Sent != 10 || c.Waiting != 0 || c.Bytes != 0 {
			t.Errorf("counters %+v", c)
		}
		if err := p.Push(exampleOf("work")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Push after Close: %v", err)
		}
	})
}

// TestCloseDrops: requests that wait at the end of the context are dropped.
func TestCloseDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := New(Config{URL: "otlp+http://server", Transport: held{}, Senders: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := p.Push(exampleOf("work")); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if n := p.Close(ctx); n != 3 {
			t.Errorf("Close dropped %d", n)
		}
		if c := p.Counters(); c.Expired != 3 || c.Waiting != 0 || c.Bytes != 0 {
			t.Errorf("counters %+v", c)
		}
	})
}

// TestToken: a request has the present token of the file, and no error shows it.
func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if _, err := New(Config{URL: "http://server", TokenFile: path}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no token file: %v", err)
	}
	write := func(s string) {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	said := make(chan string, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { said <- r.Header.Get("Authorization") }))
	defer server.Close()
	p, err := New(Config{URL: server.URL, TokenFile: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		write(want + "\n")
		if err := p.Push(exampleOf("work")); err != nil {
			t.Fatal(err)
		}
		if got := <-said; got != "Bearer "+want {
			t.Errorf("authorization %q", got)
		}
	}
	wait(t, p)
	write("secret\nof two lines\n")
	if _, err := New(Config{URL: "http://server", TokenFile: path}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("two lines: %v", err)
	}
}

// TestHeader: a header that would make another one is refused.
func TestHeader(t *testing.T) {
	for _, h := range []http.Header{{"X-A": {"a\r\nX-B: b"}}, {"X A": {"a"}}, {"": {"a"}}, {"X-A:": {"a"}}} {
		if err := (Config{URL: "http://server", Header: h}).Check(); err == nil {
			t.Errorf("%q is taken", h)
		}
	}
	if err := (Config{URL: "http://server", Header: http.Header{"X-Scope-OrgID": {"us"}}}).Check(); err != nil {
		t.Error(err)
	}
}

func TestAddress(t *testing.T) {
	for address, want := range map[string]string{
		"http://h:4040":                         "http://h:4040/push.v1.PusherService/Push",
		"https://h/pyro":                        "https://h/pyro/push.v1.PusherService/Push",
		"otlp+http://h:4318":                    "http://h:4318/v1development/profiles",
		"otlp+https://h/v1development/profiles": "https://h/v1development/profiles",
		"otlp+grpc://h:4317":                    "http://h:4317/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",
		"otlp+grpcs://h":                        "https://h/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export",

		"": "", "h:4040": "", "ftp://h": "", "http://": "", "http://h?a=b": "", "http://u:secret@h:port": "", "http://u:secret@h/#f": "", "gopher://u:secret@h": "",
	} {
		u, _, err := resolve(address)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is %v", address, u)
		case want == "" && strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: the error shows the password: %v", address, err)
		case want != "" && (err != nil || u.String() != want):
			t.Errorf("%q is %v, %v, not %s", address, u, err, want)
		}
	}
}

// TestUseless: Push refuses a profile that no server takes.
func TestUseless(t *testing.T) {
	p, err := New(Config{URL: "http://server", Transport: held{}})
	if err != nil {
		t.Fatal(err)
	}
	defer wait(t, p)
	for name, spoil := range map[string]func(*profile.Profile){
		"no sample":   func(p *profile.Profile) { p.Sample = nil },
		"no time":     func(p *profile.Profile) { p.TimeNanos = 0 },
		"no duration": func(p *profile.Profile) { p.DurationNanos = 0 },
		"no location": func(p *profile.Profile) { p.Sample[0].Location = nil },
		"no period":   func(p *profile.Profile) { p.PeriodType = nil },
		"no value":    func(p *profile.Profile) { p.Sample[0].Value = nil },
	} {
		pr := exampleOf("work")
		spoil(pr.Data)
		if err := p.Push(pr); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestLabels(t *testing.T) {
	for name, want := range map[string]string{"": "_", "a.b": "a_b", "9a": "_a", "a9": "a9", "ä": "__", "a\n\"": "a__"} {
		if got := labelName(name); got != want {
			t.Errorf("labelName(%q) = %q", name, got)
		}
	}
	if got := cut(strings.Repeat("ä", 10_000)); len(got) != longestLabel {
		t.Errorf("a label of %d bytes", len(got))
	}
	if got := cut(strings.Repeat("ä", 10_000) + "\xff"); len(got) > longestLabel || !bytes.HasPrefix([]byte(got), []byte("ää")) {
		t.Errorf("a label of %d bytes", len(got))
	}
}
