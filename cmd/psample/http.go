package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ptools/internal/profile"
	"ptools/internal/sample"
)

// server serves a profile: the page with flame graphs and pprof's own pages. While the profile is being taken it serves
// the profile so far. A nil server serves nothing.
type server struct {
	listener   net.Listener
	server     *http.Server
	host       string // as given on the command line
	options    *profile.Options
	follows    bool // there is something to show before the end
	readsFiles atomic.Bool
	served     chan error // gets the error when serving has ended

	wanted   chan chan *profile.Profile // asks the sampler for the profile so far
	complete chan struct{}              // closed when whole is there
	whole    *profile.Profile
	turn     chan struct{} // held by the request that makes a new view
	view     *view
}

// How often a profile that is being taken is shown anew. Pages ask after liveWait, and a state is shown until it is
// restWait old. If making a state takes long, both are longer, so that it takes a tenth of a processor's time.
const (
	liveWait  = 3 * time.Second
	restWait  = time.Second
	makeShare = 10
)

// listen begins to serve. An address without a host serves this machine only.
func listen(cfg *config, stderr io.Writer) (*server, error) {
	if cfg.http == "" {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(cfg.http)
	if err != nil {
		return nil, err
	}
	if host == "" {
		host = "localhost"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	s := &server{
		listener: l, host: host, options: cfg.options(), follows: !cfg.threadCreate && !cfg.blame, served: make(chan error, 1),
		wanted: make(chan chan *profile.Profile), complete: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: s}
	go func() { s.served <- s.server.Serve(l) }() // ended by close, which waits for it
	url := s.url()
	fmt.Fprintf(stderr, "psample: %s/ has flame graphs, %s%s has pprof; ^C ends\n", url, url, pprofAt)
	if !s.isLocal() && !cfg.quiet {
		fmt.Fprintln(stderr, "psample: whoever reaches this address sees the profile: names of functions, files and threads")
	}
	return s, nil
}

// url returns the address of the pages.
func (s *server) url() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if s.isLocal() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// isLocal reports whether only this machine is served.
func (s *server) isLocal() bool {
	addr, ok := s.listener.Addr().(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// knows reports whether a request has a host name of this server. Otherwise a foreign web page, whose name is made to
// resolve to this machine, could read the profile.
func (s *server) knows(asked string) bool {
	if h, _, err := net.SplitHostPort(asked); err == nil {
		asked = h
	}
	asked = strings.Trim(asked, "[]")
	if ip := net.ParseIP(asked); ip != nil {
		return ip.IsLoopback() || !s.isLocal()
	}
	names := []string{"localhost", strings.ToLower(s.host)}
	if name, err := os.Hostname(); err == nil && !s.isLocal() {
		names = append(names, strings.ToLower(name))
	}
	return slices.Contains(names, strings.ToLower(asked))
}

// ServeHTTP serves the present state of the profile.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.knows(r.Host) {
		http.Error(w, "not a name of this server", http.StatusForbidden)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	var form func(*view) (http.Handler, error)
	switch {
	case r.URL.Path == "/":
		form = (*view).page
	case r.URL.Path == "/data.json":
		form = (*view).data
	case strings.HasPrefix(r.URL.Path, pprofAt):
		form = (*view).pprof
	default:
		http.NotFound(w, r)
		return
	}
	v, err := s.current(r.Context())
	if err != nil {
		return // the client has gone away
	}
	if v == nil {
		h.Set("Refresh", "1")
		io.WriteString(w, "psample is still counting\n")
		return
	}
	content, err := form(v)
	if err != nil {
		http.Error(w, profile.Clean(err.Error()), http.StatusInternalServerError)
		return
	}
	content.ServeHTTP(w, r)
}

// current returns the state to be shown; nil if there is none before the end.
func (s *server) current(ctx context.Context) (*view, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	wait := time.Duration(0)
	over := !s.sampling()
	if v := s.view; v != nil {
		if wait = makeShare * v.took(); v.complete || !over && time.Since(v.at) < max(restWait, wait) {
			return v, nil
		}
	}
	if !over && !s.follows {
		return nil, nil
	}
	reply := make(chan *profile.Profile, 1)
	v := &view{server: s, options: *s.options}
	select {
	case s.wanted <- reply:
		v.profile, v.options.Live = <-reply, max(liveWait, wait)
	case <-s.complete:
		v.profile, v.complete = s.whole, true
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	v.at, s.view = time.Now(), v
	return v, nil
}

// sampling reports whether the profile is not complete.
func (s *server) sampling() bool {
	select {
	case <-s.complete:
		return false
	default:
		return true
	}
}

// progress is called by the sampler after every round. It only gives a copy of the profile to a request that waits
// for it.
func (s *server) progress(sampler *sample.Sampler) {
	if s == nil {
		return
	}
	select {
	case reply := <-s.wanted:
		reply <- sampler.SoFar()
	default:
	}
}

// publish serves the whole profile from now on.
func (s *server) publish(p *profile.Profile) {
	s.whole = p
	close(s.complete)
}

// close ends the serving.
func (s *server) close() error {
	if s == nil {
		return nil
	}
	err := s.server.Close()
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// view is a state of the profile in the forms that were requested. Each form is made once.
type view struct {
	server   *server
	profile  *profile.Profile
	options  profile.Options
	complete bool
	at       time.Time

	mu    sync.Mutex
	forms [3]form
	spent time.Duration
}

type form struct {
	made    bool
	content http.Handler
	err     error
}

// took returns how long the making of the view has taken.
func (v *view) took() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.spent
}

// once returns a form, and makes it at the first call.
func (v *view) once(which int, content func() (http.Handler, error)) (http.Handler, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f := &v.forms[which]
	if !f.made {
		began := time.Now()
		f.made = true
		f.content, f.err = content()
		v.spent += time.Since(began)
	}
	return f.content, f.err
}

func (v *view) page() (http.Handler, error) {
	return v.once(0, func() (http.Handler, error) {
		return content("text/html; charset=utf-8", func(w io.Writer) error { return v.profile.Write(w, profile.HTML, &v.options) })
	})
}

func (v *view) data() (http.Handler, error) {
	return v.once(1, func() (http.Handler, error) {
		return content("application/json", func(w io.Writer) error { return v.profile.WritePageData(w, &v.options) })
	})
}

func (v *view) pprof() (http.Handler, error) {
	return v.once(2, func() (http.Handler, error) {
		var proto bytes.Buffer
		if err := v.profile.Write(&proto, profile.Pprof, &v.options); err != nil {
			return nil, err
		}
		return pprofPages(proto.Bytes(), v.server.readsFiles.Load())
	})
}

// content returns a handler for what write writes.
func content(kind string, write func(io.Writer) error) (http.Handler, error) {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Write(b.Bytes())
	}), nil
}

// serve shows the whole profile until a signal comes: the first, which ends ctx, or the next if the first has ended the
// sampling.
func (s *session) serve(ctx context.Context, p *profile.Profile, again <-chan os.Signal) error {
	s.server.publish(p)
	if !s.cfg.quiet {
		fmt.Fprintln(s.stderr, "psample: sampling has ended, the pages stay; ^C ends")
	}
	first := ctx.Done()
	if ctx.Err() != nil {
		first = nil
	}
	select {
	case <-first:
	case <-again:
	}
	return nil
}
