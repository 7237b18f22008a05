package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ptools/internal/conf"
	"ptools/internal/job"
	"ptools/internal/patience"
	"ptools/pctl"
	"ptools/pctl/sample"
	"ptools/pctl/serve"
	"ptools/pctl/targets"
)

// daemon is a running psampled.
type daemon struct {
	*settings
	told    *messages
	watcher *targets.Watcher
	sampler *sample.Sampler
	pushing *pushing // nil: nothing is pushed
	checks  *checks
	served  *serve.Server
	secrets atomic.Pointer[tls.Config] // nil: there is no TLS
}

// serve serves until a signal comes.
func (s *settings) serve(ctx context.Context, stderr io.Writer) error {
	d := &daemon{settings: s, told: writeMessages(stderr)}
	defer d.told.close()
	signal.Ignore(syscall.SIGPIPE) // the reader of standard error may go away
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	listener, err := d.listen()
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := d.open(); err != nil {
		return err
	}
	defer d.sampler.Close()
	if err := d.openPush(); err != nil {
		return err
	}
	defer d.pushing.Close()
	ctx, cancel := context.WithCancel(ctx)
	d.checks = &checks{ctx: ctx}
	defer d.checks.close()
	defer cancel()
	server, err := d.server()
	if err != nil {
		return err
	}
	if err := job.TakeThreads(ownThreads, ownThreads+2*patience.MostLeft); err != nil {
		d.say("%v", err)
	}
	return d.run(ctx, server, d.served.Limit(listener, d.connections()), hangups)
}

// ownThreads is how many threads there are from the beginning: requests that overlap, and processes that are sampled by stops,
// keep one each. Files and pages that do not come keep further ones.
const ownThreads = 64

// perClient is how many connections there may be for each profile that is being taken. Most clients keep their
// connection between requests.
const perClient = 4

// connections returns how many connections there may be. With all of them open, three quarters of the descriptors
// are left for sampling.
func (d *daemon) connections() int {
	most := perClient * d.MaxClients
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err == nil {
		most = int(min(uint64(most), max(1, r.Cur/4)))
	}
	return most
}

// longestNaming is how long an answer waits for names. The answer should come within a second after the time of
// the profile.
const longestNaming = 700 * time.Millisecond

// open finds the targets and makes the sampler.
func (d *daemon) open() (err error) {
	if err := pctl.QuietStops(); err != nil {
		return err
	}
	if d.watcher, err = targets.NewWatcher(d.allRules()); err != nil {
		return err
	}
	for _, r := range d.rules {
		if r.PID != 0 && !d.has(r.PID) {
			return fmt.Errorf("process %d is not there, or is one of the kernel's", r.PID)
		}
	}
	use := map[string]sample.Timers{"auto": sample.TimersAuto, "off": sample.TimersOff, "only": sample.TimersOnly}[d.Timers]
	d.sampler, err = sample.Open(&sample.SamplerOptions{Period: d.period(), Timers: use, Lines: true, Patience: longestNaming})
	if err == nil && d.sampler.Stops() != nil {
		d.say("threads that run are stopped for each sample: %v", d.sampler.Stops())
	}
	return err
}

func (d *daemon) has(pid int) bool {
	for _, t := range d.watcher.Targets() {
		if t.PID == pid {
			return true
		}
	}
	return false
}

func (d *daemon) say(format string, args ...any) {
	if !d.quiet {
		d.told.add(format, args...)
	}
}

// server makes the server, with its token and certificates.
func (d *daemon) server() (*http.Server, error) {
	terms, secrets, err := d.terms()
	if err != nil {
		return nil, err
	}
	o := serve.Options{Sampler: d.sampler, Targets: d.watcher, Terms: terms, MostClients: d.MaxClients}
	if host, _, _ := net.SplitHostPort(d.Listen); isLoopback(host) && d.Socket == "" { // no page can have a browser open a socket
		o.Hosts = []string{"localhost", "127.0.0.1", "::1", host}
	}
	o.Loops = map[string]func() time.Time{"the list of processes": d.watcher.Moved, "the reader of the timers": d.sampler.Moved}
	if d.pushing != nil {
		o.Loops["the push"] = d.pushing.loop.Moved
	}
	d.served = serve.New(o)
	if d.pushing != nil {
		d.served.Register(d.pushing)
	}
	d.served.Register(d.checks)
	d.served.AddPage("/check", "check", d.checks)
	server := d.served.HTTP()
	if secrets != nil {
		d.secrets.Store(secrets)
		server.TLSConfig = &tls.Config{
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return d.secrets.Load(), nil },
		}
	}
	return server, nil
}

// mostSecret bounds the size of a file with a token or certificates.
const mostSecret = 1 << 20

// terms reads the files of the token and the certificates, which may have been replaced since the start.
func (s *settings) terms() (serve.Terms, *tls.Config, error) {
	t := serve.Terms{Longest: time.Duration(s.MaxSeconds)}
	if s.TokenFile != "" {
		text, err := patience.ReadFile(s.TokenFile, mostSecret)
		if err != nil {
			return t, nil, err
		}
		if t.Token = string(bytes.TrimSpace(text)); t.Token == "" {
			return t, nil, fmt.Errorf("%s has no token in it", s.TokenFile)
		}
	}
	secrets, err := s.tls()
	return t, secrets, err
}

// tls returns nil without a certificate.
func (s *settings) tls() (*tls.Config, error) {
	if s.TLS.Cert == "" {
		return nil, nil
	}
	certificate, err := patience.ReadFile(s.TLS.Cert, mostSecret)
	if err != nil {
		return nil, err
	}
	key, err := patience.ReadFile(s.TLS.Key, mostSecret)
	if err != nil {
		return nil, err
	}
	cert, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", s.TLS.Cert, s.TLS.Key, err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if s.TLS.ClientCA != "" {
		text, err := patience.ReadFile(s.TLS.ClientCA, mostSecret)
		if err != nil {
			return nil, err
		}
		c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !c.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in it", s.TLS.ClientCA)
		}
	}
	return c, nil
}

// run serves until ctx is done. Profiles that are being taken then are abandoned.
func (d *daemon) run(ctx context.Context, server *http.Server, listener net.Listener, hangups <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { d.watcher.Run(ctx) })
	work.Go(func() { d.pushing.run(ctx) })
	work.Go(func() { boundMemory(ctx) })
	work.Go(func() { d.tellLacks(ctx) })
	served := make(chan error, 1)
	scheme := "http"
	if server.TLSConfig != nil {
		scheme = "https"
		listener = tls.NewListener(listener, server.TLSConfig)
	}
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	go func() { served <- server.Serve(listener) }() // ends with Close, below
	d.announce(scheme, listener.Addr())
	for {
		select {
		case <-hangups:
			d.reload()
		case err := <-served:
			cancel()
			return err
		case <-ctx.Done():
			cancel()
			err := server.Close()
			if end := <-served; !errors.Is(end, http.ErrServerClosed) {
				err = errors.Join(err, end)
			}
			return err
		}
	}
}

// reload reads the file again, and the files that it names. If something is wrong with them, reload says so and
// changes nothing.
func (d *daemon) reload() {
	if err := d.adopt(); err != nil {
		d.told.add("not reloaded: %v", err)
		return
	}
	d.say("reloaded: %s", d.processes())
}

// adopt takes over the settings that can change without a restart: targets, the longest profile, the token,
// certificates and their authority. The others need a restart. So do the token and the certificates if they
// change together with the address: until the restart the server still serves other machines, even if the new
// address is loopback and needs no token.
func (d *daemon) adopt() error {
	next := settings{Config: d.flags, rules: d.rules, set: d.set}
	if d.file != "" {
		c, err := conf.Read(d.file)
		if err != nil {
			return err
		}
		next.merge(c)
	}
	if err := next.check(); err != nil {
		return err
	}
	if later := next.needRestart(&d.Config); len(later) > 0 {
		d.say("needs a restart to change: %s", strings.Join(later, ", "))
		next.keep(&d.Config)
		if err := next.check(); err != nil {
			return err
		}
	}
	terms, secrets, err := next.terms()
	if err != nil {
		return err
	}
	if err := d.watcher.SetRules(next.allRules()); err != nil {
		return err
	}
	d.served.SetTerms(terms)
	d.secrets.Store(secrets)
	d.Config = next.Config
	return nil
}

// needRestart returns the keys of settings that differ from those in use and cannot change without a restart.
func (s *settings) needRestart(at *conf.Config) (keys []string) {
	for _, k := range []struct {
		name   string
		differ bool
	}{
		{"listen", s.Listen != at.Listen},
		{"socket", s.Socket != at.Socket || s.SocketMode != at.SocketMode},
		{"tls", (s.TLS.Cert == "") != (at.TLS.Cert == "")},
		{"rate", s.Rate != at.Rate},
		{"timers", s.Timers != at.Timers},
		{"max_clients", s.MaxClients != at.MaxClients},
		{"push", !reflect.DeepEqual(s.Push, at.Push)},
	} {
		if k.differ {
			keys = append(keys, k.name)
		}
	}
	return keys
}

// keep sets the settings that cannot change without a restart, and those that depend on them, to the values in
// use.
func (s *settings) keep(at *conf.Config) {
	if s.Listen != at.Listen || s.Socket != at.Socket || (s.TLS.Cert == "") != (at.TLS.Cert == "") {
		s.TokenFile, s.TLS = at.TokenFile, at.TLS
	}
	s.Socket, s.SocketMode = at.Socket, at.SocketMode
	s.Listen, s.Rate, s.Timers, s.MaxClients, s.Push = at.Listen, at.Rate, at.Timers, at.MaxClients, at.Push
}

// processes says how many targets there are.
func (d *daemon) processes() string {
	n := len(d.watcher.Targets())
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
