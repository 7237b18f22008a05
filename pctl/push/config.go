package push

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// Config says where profiles are sent, and how. Only URL is required.
type Config struct {
	URL    string            // see the package's comment
	Labels map[string]string // of every profile; a label of the profile itself overrides one here
	Header http.Header       // of every request, such as X-Scope-OrgID

	// TokenFile is a file with a token for "Authorization: Bearer". It is read for every request, so it may be changed.
	TokenFile string

	Queue   int           // bytes of requests that wait; 0: 32 MiB
	Senders int           // requests at the same time; 0: 4
	Timeout time.Duration // of one try; 0: 10 s
	Keep    time.Duration // how long a request is tried; 0: 2 min

	Transport http.RoundTripper // nil: HTTP with the proxy of the environment, and the system's certificates
}

const (
	defaultQueue   = 32 << 20
	defaultSenders = 4
	defaultTimeout = 10 * time.Second
	defaultKeep    = 2 * time.Minute

	firstWait = 500 * time.Millisecond
	lastWait  = 30 * time.Second
)

var headerName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// protocol is one way to send a profile to a server.
type protocol interface {
	// encode returns the body of a request.
	encode(p *Profile) ([]byte, error)
	// header returns the headers of a request that describe its body.
	header() http.Header
	// verdict reads an answer. It must read the body to its end.
	verdict(r *http.Response) error
}

// speaks has the protocol and the path of the call by scheme.
var speaks = map[string]struct {
	scheme, path string
	protocol     protocol
}{
	"http":       {"http", pyroscopePath, pyroscope{}},
	"https":      {"https", pyroscopePath, pyroscope{}},
	"otlp+http":  {"http", otlpPath, otlp{}},
	"otlp+https": {"https", otlpPath, otlp{}},
	"otlp+grpc":  {"http", grpcPath, grpc{}},
	"otlp+grpcs": {"https", grpcPath, grpc{}},
}

// resolve returns the address and the protocol of the call.
func resolve(address string) (*url.URL, protocol, error) {
	u, err := url.Parse(address)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // the error of Parse has the whole address in it, with the password
		}
		return nil, nil, fmt.Errorf("push: address: %w", err)
	}
	s, ok := speaks[u.Scheme]
	switch {
	case !ok:
		return nil, nil, fmt.Errorf("push: address %s: it must begin with http://, https://, otlp+http://, otlp+https://, otlp+grpc:// or otlp+grpcs://", u.Redacted())
	case u.Host == "":
		return nil, nil, fmt.Errorf("push: address %s has no host", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, nil, fmt.Errorf("push: address %s: a query or fragment has no meaning here", u.Redacted())
	}
	u.Scheme = s.scheme
	if path := strings.TrimSuffix(u.Path, "/"); !strings.HasSuffix(path, s.path) {
		u = u.JoinPath(s.path)
	}
	return u, s.protocol, nil
}

// Check returns the error that New would return, without a look at the token.
func (c Config) Check() error {
	_, err := c.withDefaults()
	if err == nil {
		_, _, err = resolve(c.URL)
	}
	return err
}

func (c Config) withDefaults() (Config, error) {
	if c.Queue < 0 || c.Senders < 0 || c.Timeout < 0 || c.Keep < 0 {
		return c, errors.New("push: a bound is negative")
	}
	for name, values := range c.Header {
		for _, v := range values {
			if !headerName.MatchString(name) || strings.ContainsFunc(v, unicode.IsControl) {
				return c, fmt.Errorf("push: header %q cannot be sent", name)
			}
		}
	}
	c.Queue = cmp.Or(c.Queue, defaultQueue)
	c.Senders = cmp.Or(c.Senders, defaultSenders)
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	c.Keep = cmp.Or(c.Keep, defaultKeep)
	return c, nil
}

// transport returns a transport for a protocol. gRPC needs HTTP/2, also without encryption.
func transport(p protocol) http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if _, ok := p.(grpc); ok {
		t.Protocols = new(http.Protocols)
		t.Protocols.SetHTTP2(true)
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	return t
}
