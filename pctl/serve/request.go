package serve

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ptools/internal/procfs"
)

// query parses a request.
func (s *Server) query(p *page, r *http.Request) (*query, error) {
	t, err := s.target(r)
	if err != nil {
		return nil, statusError{http.StatusNotFound, err}
	}
	q := &query{ctx: r.Context(), r: r, target: t}
	form, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // otherwise what cannot be parsed would be left out, and the rest answered
		return nil, bad("query: %v", err)
	}
	if text := form.Get("seconds"); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || !(n > 0) || math.IsInf(n, 0):
			return nil, bad("seconds=%q is not a positive number", text)
		case n > s.terms.Load().longest.Seconds():
			return nil, bad("seconds=%s is more than the %v that a profile may take here", text, s.terms.Load().longest)
		case p.seconds == 0:
			return nil, bad("this page is of one moment: seconds means nothing")
		}
		if q.seconds = time.Duration(n * float64(time.Second)); q.seconds == 0 {
			return nil, bad("seconds=%s is less than a nanosecond", text)
		}
	} else if p.seconds > 0 {
		q.seconds = min(time.Duration(p.seconds)*time.Second, s.terms.Load().longest)
	}
	if text := form.Get("debug"); text != "" {
		if q.debug, err = strconv.Atoi(text); err != nil || q.debug < 0 {
			return nil, bad("debug=%q is not a number from 0 on", text)
		}
		if q.debug > 0 && !p.texts {
			return nil, bad("this page has no text form: leave debug out")
		}
	}
	return q, nil
}

// ended returns the error of a page, or that the process has ended.
func (q *query) ended(err error) error {
	if own := (statusError{}); err == nil || errors.As(err, &own) || procfs.Lacking(err) || q.ctx.Err() != nil || q.target.Alive() {
		return err
	}
	return statusError{http.StatusNotFound, fmt.Errorf("process %d has ended", q.target.PID)}
}

var errStrange = errors.New("a page of another site has asked for this; open the address yourself")

// strange reports whether a page of another site has made a browser ask: sampling costs, and some pages stop a process for a
// moment. A browser says so itself (Fetch Metadata); a client that is no browser does not send the header. A link to a page
// that stops nothing may be followed.
func (p *page) strange(r *http.Request) bool {
	site, followed := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return (site == "cross-site" || site == "same-site") && (p.stops || !followed)
}
