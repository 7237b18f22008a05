package serve_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gprofile "github.com/google/pprof/profile"

	"ptools/internal/ptest"
	"ptools/pctl/serve"
)

// lateness is how much later than asked for answers came.
type lateness struct {
	mu  sync.Mutex
	all []time.Duration
}

func (l *lateness) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

func (l *lateness) most() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return 0
	}
	return slices.Max(l.all)
}

// String lists quantiles.
func (l *lateness) String() string {
	slices.Sort(l.all)
	at := func(q float64) time.Duration {
		return l.all[min(len(l.all)-1, int(q*float64(len(l.all))))].Round(time.Millisecond)
	}
	return fmt.Sprintf("%d answers, late by %v (median), %v (90 %%), %v (99 %%), %v (the last)", len(l.all), at(.5), at(.9), at(.99), at(1))
}

// machine measures how late this machine itself is: how long after its time a timer's goroutine answers a client over a
// connection.
func machine(t *testing.T, most time.Duration) (late *lateness, stop func()) {
	t.Helper()
	const every = 50 * time.Millisecond
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(every) }))
	late = new(lateness)
	ctx, cancel := context.WithTimeout(t.Context(), most)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() { // ends with ctx
			for ctx.Err() == nil {
				begun := time.Now()
				r, err := s.Client().Get(s.URL)
				if err != nil {
					t.Error(err)
					return
				}
				r.Body.Close()
				late.add(time.Since(begun) - every)
			}
		})
	}
	return late, func() { cancel(); clients.Wait(); s.Close() }
}

// TestCrowd: 200 clients at once, half of them slow or hostile. The others get right answers within a second plus the
// lateness of the machine itself. Memory is bounded.
func TestCrowd(t *testing.T) {
	const clients = 200
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "200000", "-u", "800")
	f := newFixture(t, serve.Options{Patience: 3 * time.Second}, nil, g.PID)
	random := ptest.Rand(t)
	var all sync.WaitGroup
	var sum atomic.Int64
	answers := new(lateness)
	own, stop := machine(t, time.Minute)
	defer stop()
	for i := range clients {
		seed := random.Uint64()
		all.Go(func() {
			if i%2 == 1 {
				hostile(f, i, rand.New(rand.NewPCG(seed, 0)))
				return
			}
			begun := time.Now()
			p, err := fetch(f.URL + "/debug/pprof/profile?seconds=1.5")
			if err != nil {
				t.Error(err)
				return
			}
			answers.add(time.Since(begun) - 1500*time.Millisecond)
			for _, s := range p.Sample {
				sum.Add(s.Value[1])
			}
		})
	}
	time.Sleep(time.Second)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapInuse > 200<<20 {
		t.Errorf("%d MiB of heap are in use", m.HeapInuse>>20)
	}
	all.Wait()
	stop()
	t.Logf("%d MiB of heap; %v; the machine: %v", m.HeapInuse>>20, answers, own)
	// An answer needs the processor some ten times, and on a busy machine it waits for it each time.
	if answers.most() > time.Second+10*own.most() {
		t.Errorf("an answer came %v late", answers.most())
	}
	if sum.Load() == 0 {
		t.Error("no profile has anything")
	}
	if r, body := f.get("/healthz"); r.StatusCode != http.StatusOK {
		t.Errorf("%s %s", r.Status, body)
	}
	for deadline := time.Now().Add(5 * time.Second); f.sampler.Stats().Sampled > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is still sampled")
		}
	}
}

func fetch(url string) (*gprofile.Profile, error) {
	r, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.Status, body)
	}
	return gprofile.ParseData(body)
}

// hostile is a client that does something that it should not. What it gets does not matter.
func hostile(f *fixture, i int, random *rand.Rand) {
	c, err := net.Dial("tcp", strings.TrimPrefix(f.URL, "http://"))
	if err != nil {
		f.t.Error(err)
		return
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Duration(ptest.Rounds(35, 50, 50)) * 100 * time.Millisecond)) // longer than Patience
	const get = "GET %s HTTP/1.1\r\nHost: a\r\n"
	switch i / 2 % 6 {
	case 0: // random bytes
		b := make([]byte, 1+random.IntN(100_000))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		c.Write(b)
	case 1: // a header that does not end
		fmt.Fprintf(c, get+"X: ", "/")
		for range 100 {
			if _, err := io.WriteString(c, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	case 2:
		fmt.Fprintf(c, get+"\r\n", "/debug/pprof/profile?seconds=1e9")
	case 3: // leaves
		fmt.Fprintf(c, get+"\r\n", "/debug/pprof/wall?seconds=60")
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
		return
	case 4: // a byte now and then
		for _, b := range []byte(fmt.Sprintf(get+"\r\n", "/debug/pprof/profile?seconds=1")) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(30 * time.Millisecond)
		}
	case 5: // a body that does not come
		io.WriteString(c, "POST /debug/pprof/symbol HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n0x1")
	}
	for b := make([]byte, 1); ; time.Sleep(20 * time.Millisecond) { // reads slowly
		if _, err := c.Read(b); err != nil {
			return
		}
	}
}
