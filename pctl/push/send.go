package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ptools/internal/clean"
)

// outcome is the final fate of a request.
type outcome int

const (
	sent outcome = iota
	refused
	expired
)

// again is an error after which the same request may be tried once more.
type again struct {
	err   error
	after time.Duration // how long the server wants us to wait; 0: it does not say
}

func (a *again) Error() string { return a.err.Error() }
func (a *again) Unwrap() error { return a.err }

// send is one sender. It ends when the queue is closed and empty, or with p.ctx.
func (p *Pusher) send() {
	for p.ctx.Err() == nil {
		r, ok := p.queue.take()
		if !ok {
			return
		}
		p.queue.done(r, p.deliver(r))
	}
}

// deliver tries a request until it expires.
func (p *Pusher) deliver(r request) outcome {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := p.try(r)
		if err == nil {
			return sent
		}
		p.queue.failed(err)
		var a *again
		if !errors.As(err, &a) {
			return refused
		}
		// Between half of wait and all of it: two requests that failed together are not repeated together.
		pause := max(a.after, wait/2+rand.N(wait/2+1))
		if time.Now().Add(pause).After(r.expires) || !sleep(p.ctx, pause) {
			return expired
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// try makes one request.
func (p *Pusher) try(r request) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.config.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return err
	}
	maps.Copy(req.Header, p.protocol.header())
	for key, values := range p.config.Header {
		req.Header[http.CanonicalHeaderKey(key)] = values
	}
	if p.config.TokenFile != "" {
		t, err := token(p.config.TokenFile)
		if err != nil {
			return &again{err: err} // the token file may be about to be written
		}
		req.Header.Set("Authorization", "Bearer "+t)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return &again{err: fmt.Errorf("push: %w", err)} // url.Error hides the password
	}
	defer resp.Body.Close()
	return p.protocol.verdict(resp)
}

// answered returns the error that an HTTP answer stands for. retry reports which statuses are worth another try.
func answered(r *http.Response, retry func(status int) bool) error {
	said, err := io.ReadAll(io.LimitReader(r.Body, 1<<10))
	if r.StatusCode/100 == 2 {
		return nil
	}
	text := r.Status
	if s := strings.TrimSpace(string(said)); err == nil && s != "" {
		text += ": " + s
	}
	err = fmt.Errorf("push: the server says %s", clean.Text(text))
	if retry(r.StatusCode) {
		return &again{err: err, after: retryAfter(r.Header)}
	}
	return err
}

// retryAfter reads the Retry-After header: seconds, or a date. The date is by the server's clock, as Date is, from
// which ours may differ by hours.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if s, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// trimmed returns the one line of a token file, or nothing if there are more or none.
func trimmed(b []byte) string {
	s := strings.TrimSpace(string(b))
	if strings.ContainsAny(s, "\r\n") {
		return ""
	}
	return s
}
