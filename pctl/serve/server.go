package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ptools/pctl/sample"
	"ptools/pctl/targets"
)

// Targets are the processes that a Server serves; *targets.Watcher implements it.
type Targets interface {
	// Targets returns them ordered by number.
	Targets() []*targets.Target
	// Find returns the target with an identity, nil if there is none.
	Find(id string) *targets.Target
}

// Options of New.
type Options struct {
	// Sampler takes the profiles. The caller has to close it, after the last request.
	Sampler *sample.Sampler
	// Targets are the processes.
	Targets Targets
	Terms
	// MostClients is how many clients may wait for a profile, or read one, at the same time; zero: 256. Others are told
	// to try again.
	MostClients int
	// Hosts are the host names that requests may have; nil: any. A server on a loopback address should name its own.
	// Otherwise a foreign web page could have a browser read profiles, under a name that resolves to this machine.
	Hosts []string
	// Loops are what has to move while the program works, by name: when it has moved last, zero if it need not. The functions
	// must not wait. /healthz is an error while one has not moved for five seconds.
	Loops map[string]func() time.Time
	// Patience is how long a client may take to read an answer; zero: 30 s.
	Patience time.Duration
}

// Terms are options that can be changed while a Server runs (SetTerms).
type Terms struct {
	// Longest is how long a profile may take; zero: 300 s.
	Longest time.Duration
	// Token must be presented with each request but /healthz, as a bearer token or the password of basic
	// authorization; empty: none.
	Token string
}

// terms are Terms in the form in which requests are checked.
type terms struct {
	longest time.Duration
	token   *[sha256.Size]byte // nil: none
}

// SetTerms changes the terms for requests that come from now on.
func (s *Server) SetTerms(t Terms) {
	now := &terms{longest: t.Longest}
	if now.longest <= 0 {
		now.longest = 300 * time.Second
	}
	if t.Token != "" {
		sum := sha256.Sum256([]byte(t.Token))
		now.token = &sum
	}
	s.terms.Store(now)
}

// Limits of requests.
const (
	mostHeader = 16 << 10
	mostBody   = 64 << 10
)

// Server answers requests. It is an http.Handler.
type Server struct {
	o       Options
	terms   atomic.Pointer[terms]
	mux     *http.ServeMux
	clients atomic.Int64 // clients that wait for a profile, or read one
	metrics *metrics
	began   time.Time
	added   []added
}

// New returns a Server.
func New(o Options) *Server {
	if o.MostClients <= 0 {
		o.MostClients = 256
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	s := &Server{o: o, mux: http.NewServeMux(), began: time.Now()}
	s.SetTerms(o.Terms)
	s.metrics = newMetrics(s)
	s.mux.HandleFunc("GET /{$}", s.index)
	s.mux.HandleFunc("GET /style.css", s.style)
	s.mux.HandleFunc("GET /healthz", s.healthz)
	s.mux.HandleFunc("GET /targets", s.discovery)
	s.mux.Handle("GET /metrics", s.metrics.handler(s))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "no page has this address")
	})
	for name, page := range pages {
		for _, method := range page.methods() {
			s.mux.HandleFunc(method+" /targets/{id}/debug/pprof/"+name, s.profile(page))
			s.mux.HandleFunc(method+" /debug/pprof/"+name, s.profile(page))
		}
	}
	return s
}

// added is a page that AddPage has added.
type added struct{ Path, Name string }

// AddPage adds a page, with a link to it on the page of targets. Clients must present the token as for all others. It must
// be called before the Server serves.
func (s *Server) AddPage(path, name string, h http.Handler) {
	s.mux.Handle("GET "+path, h)
	s.added = append(s.added, added{path, name})
}

// HTTP returns an http.Server for this handler. It bounds the size of headers and the time to read them.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler: s, MaxHeaderBytes: mostHeader, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: quiet(),
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.metrics.requests.Inc()
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.ContentLength != 0 {
		// The deadline is for the body. In a request without a body it would end the request: net/http reads on while a
		// handler runs, to notice when the client goes away, and takes the deadline for that. A ResponseWriter without a
		// connection has no deadline.
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.o.Patience))
	}
	if r.ContentLength > mostBody {
		refuse(w, http.StatusRequestEntityTooLarge, "the request is larger than %d bytes", mostBody)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	switch {
	case !s.named(r.Host):
		refuse(w, http.StatusForbidden, "%q is not a name of this server", r.Host)
	case r.URL.Path != "/healthz" && !s.authorized(r):
		h.Set("WWW-Authenticate", `Basic realm="psampled", charset="UTF-8"`)
		refuse(w, http.StatusUnauthorized, "a token is needed: Authorization: Bearer TOKEN, or the password of basic authorization")
	default:
		s.mux.ServeHTTP(w, r)
	}
}

// named reports whether a request has a host name of this server.
func (s *Server) named(host string) bool {
	if s.o.Hosts == nil {
		return true
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	for _, own := range s.o.Hosts {
		if strings.EqualFold(host, own) {
			return true
		}
	}
	return false
}

// authorized compares what the client presents with the token, in a time that does not depend on the token.
func (s *Server) authorized(r *http.Request) bool {
	token := s.terms.Load().token
	if token == nil {
		return true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, ok = r.BasicAuth()
	}
	sum := sha256.Sum256([]byte(given))
	return ok && subtle.ConstantTimeCompare(sum[:], token[:]) == 1
}

// refuse answers with an error in the form that go tool pprof shows.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Go-Pprof", "1")
	h.Del("Content-Disposition")
	w.WriteHeader(status)
	fmt.Fprintf(w, format+"\n", args...)
}

// longestStall is how long a loop may take for one turn. Each makes one or two turns a second.
const longestStall = 5 * time.Second

// healthz reports whether the server works: whether each loop moves, and whether it can list the processes of the machine.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	for _, name := range slices.Sorted(maps.Keys(s.o.Loops)) {
		if at := s.o.Loops[name](); !at.IsZero() && time.Since(at) > longestStall {
			refuse(w, http.StatusServiceUnavailable, "%s: has not moved for %d s", name, time.Since(at)/time.Second)
			return
		}
	}
	if checker, ok := s.o.Targets.(interface{ Err() error }); ok && checker.Err() != nil {
		refuse(w, http.StatusServiceUnavailable, "processes cannot be listed: %v", checker.Err())
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

var errNotOne = errors.New("there is not exactly one target: ask below /targets/PID/")

// target returns the target that a request is about.
func (s *Server) target(r *http.Request) (*targets.Target, error) {
	id := r.PathValue("id")
	if id == "" {
		if all := s.o.Targets.Targets(); len(all) == 1 {
			return all[0], nil
		}
		return nil, errNotOne
	}
	if t := s.o.Targets.Find(id); t != nil {
		return t, nil
	}
	for _, t := range s.o.Targets.Targets() {
		if fmt.Sprint(t.PID) == id {
			return t, nil
		}
	}
	return nil, fmt.Errorf("no target has the id %q: it has ended, or no rule asks for it", id)
}
