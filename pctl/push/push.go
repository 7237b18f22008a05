package push

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/google/pprof/profile"
)

// Profile is what is pushed: what was seen of a target in a stretch of time.
type Profile struct {
	// Name says what kind it is, as process_cpu does for processor time.
	Name string
	// Labels tell the target from others. Where there is no service_name, comm is taken for it.
	Labels map[string]string
	// Data has at least one sample, a time and a duration. Push does not keep it.
	Data *profile.Profile
}

// Counters says what has become of the profiles since the start. A profile is in one of Sent, Refused, Expired,
// Overflowed and Waiting.
type Counters struct {
	Sent       int64 // taken by the server
	SentBytes  int64 // as encoded
	Refused    int64 // the server will not have them
	Expired    int64 // tried for as long as Config.Keep, or not before the end
	Overflowed int64 // dropped because the queue was full
	Failures   int64 // tries that went wrong
	Waiting    int64 // in the queue, or being sent
	Bytes      int64 // of those

	LastError string // of the last try that went wrong; empty after one that went well
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

// New starts the senders. It does not ask whether the server is there.
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
		// A body that is sent elsewhere than the address says is no answer that is expected.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	for range c.Senders {
		p.senders.Go(p.send) // until the queue is closed and empty, or stop; Close waits for them
	}
	return p, nil
}

// Push encodes a profile and queues it. It does not wait for the network. The error says that the profile cannot be sent to
// anything, or os.ErrClosed.
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

// check refuses what servers refuse, where the cause is still known.
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

// Close lets the senders finish what waits until ctx ends, which drops the rest, and returns how many profiles that were. It
// may be called again.
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

// token reads a token file. Its error names the file and nothing of what is in it.
func token(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("push: token: %w", err)
	}
	t := trimmed(b)
	if t == "" {
		return "", fmt.Errorf("push: token: %s has no token, or more than one line", path)
	}
	return t, nil
}
