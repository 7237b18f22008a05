package push

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"ptools/internal/patience"
)

// Profile is what is pushed: a profile of a target over a period of time.
type Profile struct {
	// Name is the kind of the profile, such as process_cpu for processor time.
	Name string
	// Labels identify the target. Without a service_name, comm stands for it.
	Labels map[string]string
	// Data has at least one sample, a time and a duration. Push does not keep it.
	Data *profile.Profile
}

// Counters says what has become of the profiles since the start. Each profile counts in one of Sent, Refused,
// Expired, Overflowed and Waiting.
type Counters struct {
	Sent       int64 // taken by the server
	SentBytes  int64 // as encoded
	Refused    int64 // refused by the server
	Expired    int64 // not sent within Config.Keep, or before the end
	Overflowed int64 // dropped because the queue was full
	Failures   int64 // failed tries
	Waiting    int64 // in the queue, or being sent
	Bytes      int64 // bytes of those that wait

	LastError string // of the last failed try; empty after one that succeeded
}

// A Pusher sends profiles to one server. Its methods may be called from any goroutine.
type Pusher struct {
	config   Config
	url      *url.URL
	protocol protocol
	client   *http.Client
	queue    *queue

	ctx     context.Context // of the senders
	stop    context.CancelFunc
	senders sync.WaitGroup
	closed  sync.Once
}

// New starts the senders. It does not check whether the server is there.
func New(c Config) (*Pusher, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	u, proto, err := resolve(c.URL)
	if err != nil {
		return nil, err
	}
	if c.TokenFile != "" {
		if _, err := token(c.TokenFile); err != nil {
			return nil, err
		}
	}
	if c.Transport == nil {
		c.Transport = transport(proto)
	}
	p := &Pusher{config: c, url: u, protocol: proto, queue: newQueue(c.Queue)}
	p.client = &http.Client{
		Transport: c.Transport,
		// No redirect is followed: a profile is sent only to the address that was given.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	for range c.Senders {
		p.senders.Go(p.send) // until the queue is closed and empty, or stop; Close waits for them
	}
	return p, nil
}

// Push encodes a profile and queues it. It does not wait for the network. The error is os.ErrClosed, or says why no
// server would take the profile.
func (p *Pusher) Push(pr Profile) error {
	if err := check(pr.Data); err != nil {
		return fmt.Errorf("push: %w", err)
	}
	labels := maps.Clone(p.config.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	maps.Copy(labels, pr.Labels)
	if labels["service_name"] == "" {
		if labels["service_name"] = labels["comm"]; labels["comm"] == "" {
			labels["service_name"] = "unknown"
		}
	}
	pr.Labels = labels
	body, err := p.protocol.encode(&pr)
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	return p.queue.put(request{body: body, expires: time.Now().Add(p.config.Keep)})
}

// check refuses what servers would refuse. Here the cause is still known.
func check(p *profile.Profile) error {
	switch {
	case p == nil || len(p.Sample) == 0:
		return errors.New("the profile has no sample")
	case p.TimeNanos <= 0 || p.DurationNanos <= 0:
		return errors.New("the profile does not say when it was taken")
	case p.PeriodType == nil:
		return errors.New("the profile has no type of period")
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	for _, s := range p.Sample {
		if len(s.Location) == 0 {
			return errors.New("the profile has a sample without a location")
		}
	}
	return nil
}

// Counters returns what has become of the profiles.
func (p *Pusher) Counters() Counters { return p.queue.counters() }

// Close lets the senders send what waits until ctx ends, and then drops the rest. It returns how many profiles it has
// dropped. It may be called again.
func (p *Pusher) Close(ctx context.Context) (dropped int64) {
	p.closed.Do(func() {
		before := p.queue.close()
		release := context.AfterFunc(ctx, p.stop)
		p.senders.Wait()
		release()
		p.stop()
		dropped = p.queue.discard() - before
		p.client.CloseIdleConnections()
	})
	return dropped
}

// mostToken bounds the size of a token file.
const mostToken = 64 << 10

// token reads a token file. Its error names the file, and has nothing of its content.
func token(path string) (string, error) {
	b, err := patience.ReadFile(path, mostToken)
	if err != nil {
		return "", fmt.Errorf("push: token: %w", err)
	}
	t := trimmed(b)
	if t == "" {
		return "", fmt.Errorf("push: token: %s has no token, or more than one line", path)
	}
	return t, nil
}
