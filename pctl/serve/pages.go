package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"ptools/internal/procfs"
	"ptools/pctl"
	"ptools/pctl/sample"
	"ptools/pctl/targets"
)

// page is one of the pages of each target.
type page struct {
	stops   bool   // the process is stopped for a moment, or attached to
	about   string // for the index
	seconds int    // how long the profile takes if the client does not say; 0: it takes no time, and the client may not ask for any
	post    bool
	texts   bool // debug=1 and debug=2 are known
	answer  func(s *Server, q *query) (*answer, error)
}

func (p *page) methods() []string {
	if p.post {
		return []string{"GET", "POST"}
	}
	return []string{"GET"}
}

// query is a parsed request for a page.
type query struct {
	ctx     context.Context
	r       *http.Request
	target  *targets.Target
	seconds time.Duration
	debug   int
}

// answer is what is sent.
type answer struct {
	kind   string // content type
	name   string // of a file to save it in; empty: it is shown
	policy string // security policy, if it differs from that of other pages
	body   bytes.Buffer
}

const (
	binaryKind = "application/octet-stream"
	textKind   = "text/plain; charset=utf-8"
	htmlKind   = "text/html; charset=utf-8"
)

// pages are the pages of a target, by name.
var pages = map[string]*page{}

func init() { // the index lists them
	pages["{$}"] = &page{answer: (*Server).pprofIndex}
	pages["profile"] = &page{about: "processor time, as Go's CPU profile", seconds: 30, answer: (*Server).cpu}
	pages["wall"] = &page{about: "wall time of all threads, waiting included", seconds: 30, answer: (*Server).wall}
	pages["flame"] = &page{about: "flame graphs of processor time and wall time, for a browser", seconds: 10, answer: (*Server).flame}
	pages["sampling"] = &page{seconds: 5, answer: (*Server).sampling}
	pages["goroutine"] = &page{stops: true, about: "the stack of every thread now, of a Go program those of its goroutines; debug=1 and debug=2 are text", texts: true, answer: (*Server).goroutine}
	pages["threadcreate"] = &page{stops: true, about: "how many threads there are, or, with seconds, where threads are created", seconds: -1, texts: true, answer: (*Server).threadCreate}
	pages["mutex"] = &page{about: "the time that threads waited for locks, by the stacks of the threads that held them", seconds: 5, texts: true, answer: (*Server).mutex}
	pages["block"] = &page{about: "the time that goroutines of a Go program waited for each other, sampled", seconds: 5, texts: true, answer: (*Server).block}
	pages["cmdline"] = &page{about: "the command line", answer: (*Server).cmdline}
	pages["symbol"] = &page{about: "names of addresses", post: true, answer: (*Server).symbol}
}

// profile handles the requests for a page. A client counts until it has read its answer.
func (s *Server) profile(p *page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.enter(); err != nil {
			s.fail(w, r, err)
			return
		}
		defer s.clients.Add(-1)
		if p.strange(r) {
			s.fail(w, r, statusError{http.StatusForbidden, errStrange})
			return
		}
		q, err := s.query(p, r)
		var a *answer
		if err == nil {
			a, err = p.answer(s, q)
			err = q.ended(err)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.send(w, a)
	}
}

// statusError is an error with its HTTP status.
type statusError struct {
	status int
	error
}

func bad(format string, args ...any) error {
	return statusError{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// enter counts a client, or refuses it.
func (s *Server) enter() error {
	if s.clients.Add(1) > int64(s.o.MostClients) {
		s.clients.Add(-1)
		s.metrics.turnedAway.Inc()
		return statusError{http.StatusServiceUnavailable, fmt.Errorf("%d clients are being served already: try again", s.o.MostClients)}
	}
	return nil
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	var own statusError
	switch {
	case errors.As(err, &own):
		status = own.status
	case r.Context().Err() != nil:
		// The client has gone, or psampled ends. Or the client has closed its side of the connection and still reads:
		// without an answer here it would get an empty one with status 200.
		s.metrics.gone.Inc()
		status, err = http.StatusServiceUnavailable, errors.New("the connection was closed, or psampled ends, before the profile was taken")
	case procfs.Lacking(err):
		s.metrics.lacking.Inc()
		status, err = http.StatusServiceUnavailable, fmt.Errorf("psampled lacks descriptors or memory (ulimit -n): %w", err)
	case errors.Is(err, pctl.ErrNoProcess), errors.Is(err, pctl.ErrZombie), errors.Is(err, pctl.ErrNoGo), errors.Is(err, pctl.ErrGoVersion):
		status = http.StatusNotFound
	case errors.Is(err, pctl.ErrTraced), errors.Is(err, pctl.ErrOptions):
		status = http.StatusConflict
	case errors.Is(err, fs.ErrPermission):
		status = http.StatusForbidden
	case errors.Is(err, os.ErrClosed):
		status = http.StatusServiceUnavailable
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	s.metrics.failed.Inc()
	s.patient(w)
	refuse(w, status, "%v", err)
}

// patient bounds how long the client may take to read the answer.
func (s *Server) patient(w http.ResponseWriter) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.o.Patience)) // a ResponseWriter without a connection has none
}

// send sends an answer.
func (s *Server) send(w http.ResponseWriter, a *answer) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	if a.policy != "" {
		h.Set("Content-Security-Policy", a.policy)
	}
	if a.name != "" {
		h.Set("Content-Disposition", `attachment; filename="`+a.name+`"`)
	}
	h.Set("Content-Length", strconv.Itoa(a.body.Len()))
	s.patient(w)
	if _, err := w.Write(a.body.Bytes()); err != nil {
		s.metrics.gone.Inc()
	}
}

// take samples the target. If the target ends meanwhile, the profile has what was sampled until then.
func (s *Server) take(q *query, what sample.What) (*sample.Profile, error) {
	if !q.target.Alive() {
		return nil, statusError{http.StatusNotFound, fmt.Errorf("process %d has ended", q.target.PID)}
	}
	p, err := s.o.Sampler.Take(q.ctx, q.target.PID, what, q.seconds)
	if p == nil {
		return nil, err
	}
	s.metrics.profiles.WithLabelValues(what.String()).Inc()
	return p, nil
}

func (s *Server) cpu(q *query) (*answer, error) {
	p, err := s.take(q, sample.CPU)
	if err != nil {
		return nil, err
	}
	return file("profile", p.WriteCPU)
}

func (s *Server) wall(q *query) (*answer, error) {
	p, err := s.take(q, sample.Wall)
	if err != nil {
		return nil, err
	}
	return file("wall", p.WriteWall)
}

func (s *Server) flame(q *query) (*answer, error) {
	p, err := s.take(q, sample.Wall)
	if err != nil {
		return nil, err
	}
	a := &answer{kind: htmlKind, policy: "frame-ancestors 'none'"} // the page itself has a policy, with hashes
	return a, p.WriteHTML(&a.body)
}

func (s *Server) mutex(q *query) (*answer, error) {
	if !q.target.Alive() {
		return nil, statusError{http.StatusNotFound, fmt.Errorf("process %d has ended", q.target.PID)}
	}
	p, err := s.o.Sampler.Contention(q.ctx, q.target.PID, q.seconds)
	switch {
	case err != nil:
		return nil, err
	case q.debug > 0:
		return text(p.WriteContentions)
	}
	return file("mutex", p.WriteMutex)
}

func (s *Server) block(q *query) (*answer, error) {
	if !q.target.Alive() {
		return nil, statusError{http.StatusNotFound, fmt.Errorf("process %d has ended", q.target.PID)}
	}
	b, err := s.o.Sampler.Blocked(q.ctx, q.target.PID, q.seconds)
	switch {
	case err != nil:
		return nil, err
	case q.debug > 0:
		return text(b.WriteCounts)
	}
	return file("block", b.WritePprof)
}

// file is an answer for programs.
func file(name string, write func(io.Writer) error) (*answer, error) {
	a := &answer{kind: binaryKind, name: name}
	return a, write(&a.body)
}

// text is an answer for users to read.
func text(write func(io.Writer) error) (*answer, error) {
	a := &answer{kind: textKind}
	return a, write(&a.body)
}

func (s *Server) goroutine(q *query) (*answer, error) {
	ctx, cancel := context.WithTimeout(q.ctx, 10*time.Second)
	defer cancel()
	if g, err := s.o.Sampler.Goroutines(ctx, q.target.PID); err == nil || errors.Is(err, sample.ErrGoroutines) {
		switch {
		case err != nil:
			return nil, err
		case q.debug == 0:
			return file("goroutine", g.WritePprof)
		case q.debug == 1:
			return text(g.WriteCounts)
		}
		return text(g.WriteText)
	}
	// It is no Go program, or one of an unknown version. A process that cannot be read cannot be stopped either, which says why.
	stacks, err := s.o.Sampler.Stacks(ctx, q.target.PID)
	switch {
	case err != nil:
		return nil, err
	case q.debug == 0:
		return file("goroutine", stacks.WritePprof)
	case q.debug == 1:
		return text(stacks.WriteCounts)
	}
	return text(stacks.WriteText)
}

func (s *Server) threadCreate(q *query) (*answer, error) {
	d := q.seconds
	if d == 0 {
		d = time.Nanosecond // only threads that exist already
	}
	created, err := s.o.Sampler.Creations(q.ctx, q.target.PID, d)
	if err != nil {
		return nil, err
	}
	if q.debug == 0 {
		return file("threadcreate", created.WritePprof)
	}
	return text(created.WriteCounts)
}

// mostSymbols is how many addresses one request may ask for.
const mostSymbols = 4096

// symbol returns the names at addresses, as package net/http/pprof does. The addresses come in the query string or in
// the body, with + between them.
func (s *Server) symbol(q *query) (*answer, error) {
	list := q.r.URL.RawQuery
	if q.r.Method == http.MethodPost {
		body, err := io.ReadAll(q.r.Body)
		if err != nil {
			return nil, statusError{http.StatusRequestEntityTooLarge, err}
		}
		list = string(body)
	}
	var addrs []uint64
	for word := range strings.SplitSeq(list, "+") {
		if addr, err := strconv.ParseUint(strings.TrimSpace(word), 0, 64); err == nil && addr != 0 {
			addrs = append(addrs, addr)
		}
		if len(addrs) > mostSymbols {
			return nil, bad("more than %d addresses", mostSymbols)
		}
	}
	names, err := s.o.Sampler.Symbols(q.ctx, q.target.PID, addrs)
	if err != nil {
		return nil, err
	}
	a := &answer{kind: textKind}
	fmt.Fprintln(&a.body, "num_symbols: 1") // readers ask only whether it is more than 0
	for i, addr := range addrs {
		if names[i] != "" {
			fmt.Fprintf(&a.body, "%#x %s\n", addr, names[i])
		}
	}
	return a, nil
}
