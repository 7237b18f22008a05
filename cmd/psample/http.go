package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/pprof/driver"
	pprof "github.com/google/pprof/profile"

	"ptools/internal/profile"
)

// pprofAt is where pprof's own pages are.
const pprofAt = "/pprof/"

// server serves a profile: the page with flame graphs and pprof's own pages. A nil server serves nothing.
type server struct {
	listener net.Listener
	server   *http.Server
	handler  atomic.Pointer[http.Handler]
	served   chan error // gets the end of the serving
}

// listen begins to serve, at first that the sampling goes on. An address without a host is of this machine only.
func listen(addr string) (*server, error) {
	if addr == "" {
		return nil, nil
	}
	host, port, err := net.SplitHostPort(addr)
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
	s := &server{listener: l, served: make(chan error, 1)}
	s.show(http.HandlerFunc(stillSampling))
	s.server = &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.knows(r.Host, host) {
			http.Error(w, "not a name of this server", http.StatusForbidden)
			return
		}
		(*s.handler.Load()).ServeHTTP(w, r)
	})}
	go func() { s.served <- s.server.Serve(l) }() // ended by close, which waits for it
	return s, nil
}

func (s *server) show(h http.Handler) { s.handler.Store(&h) }

// knows reports whether a request came by a name that is this server's. Else a page from elsewhere whose name leads to
// this machine could read the profile.
func (s *server) knows(asked, host string) bool {
	if h, _, err := net.SplitHostPort(asked); err == nil {
		asked = h
	}
	if addr, ok := s.listener.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() {
		return true
	}
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", "[::1]", host}, asked)
}

func stillSampling(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Refresh", "1")
	io.WriteString(w, "psample is still sampling\n")
}

// url is where the pages are.
func (s *server) url() string {
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if addr, ok := s.listener.Addr().(*net.TCPAddr); ok && addr.IP.IsLoopback() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// publish serves a profile from now on.
func (s *server) publish(p *profile.Profile, o *profile.Options) error {
	var page, proto bytes.Buffer
	if err := p.Write(&page, profile.HTML, o); err != nil {
		return err
	}
	if err := p.Write(&proto, profile.Pprof, o); err != nil {
		return err
	}
	handlers, err := pprofHandlers(proto.Bytes())
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(page.Bytes())
	})
	for path, h := range handlers {
		mux.Handle(pprofAt+path[1:], h)
	}
	s.show(mux)
	return nil
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

// pprofHandlers returns pprof's own pages by their paths.
func pprofHandlers(proto []byte) (handlers map[string]http.Handler, err error) {
	err = driver.PProf(&driver.Options{
		Flagset: &pprofFlags{FlagSet: flag.NewFlagSet("pprof", flag.ContinueOnError)},
		Fetch:   pprofFetcher(proto),
		UI:      pprofUI{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			handlers = args.Handlers
			return nil
		},
	})
	return handlers, err
}

// pprofFetcher gives pprof a profile that is in memory.
type pprofFetcher []byte

func (f pprofFetcher) Fetch(string, time.Duration, time.Duration) (*pprof.Profile, string, error) {
	p, err := pprof.ParseData(f)
	return p, "psample", err
}

// pprofFlags is the command line of pprof.
type pprofFlags struct{ *flag.FlagSet }

func (f *pprofFlags) StringList(name, value, usage string) *[]*string {
	return &[]*string{f.String(name, value, usage)}
}
func (*pprofFlags) ExtraUsage() string   { return "" }
func (*pprofFlags) AddExtraUsage(string) {}

func (f *pprofFlags) Parse(func()) []string {
	if f.FlagSet.Parse([]string{"-http=localhost:0", "-no_browser", "-symbolize=none", "psample"}) != nil {
		return nil
	}
	return f.Args()
}

// pprofUI is a user who says nothing and reads nothing.
type pprofUI struct{}

func (pprofUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (pprofUI) Print(...any)                        {}
func (pprofUI) PrintErr(...any)                     {}
func (pprofUI) IsTerminal() bool                    { return false }
func (pprofUI) WantBrowser() bool                   { return false }
func (pprofUI) SetAutoComplete(func(string) string) {}

// serve publishes the profile until a signal comes. Of ctx the first one is the end, unless that has ended the sampling.
func (s *session) serve(ctx context.Context, p *profile.Profile, again <-chan os.Signal) error {
	if err := s.server.publish(p, s.cfg.options()); err != nil {
		return err
	}
	url := s.server.url()
	fmt.Fprintf(s.stderr, "psample: %s/ has flame graphs, %s%s has pprof; ^C ends\n", url, url, pprofAt)
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
