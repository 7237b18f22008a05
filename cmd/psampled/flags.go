package main

import (
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ptools/internal/check"
	"ptools/internal/conf"
	"ptools/internal/listening"
	"ptools/internal/usage"
	"ptools/pctl/targets"
)

// help is what --help prints; a test compares it with the flags.
const help = `usage: psampled [flags]
       psampled --check [-p PID] [--json]

Serves profiles of running processes, as Go programs serve their own.

  -c, --config FILE         read targets and settings from FILE; SIGHUP reads it again
  -p, --pid PID             a target, or those with a name or executable that matches, now
                            and later (repeatable, or separated by commas or blanks)
      --cgroup GLOB         targets in a cgroup whose path matches; with -p NAME those of both
  -m, --match RULE          targets: comm=NAME, exe=GLOB, cgroup=GLOB or user=NAME,
                            several joined by commas; * is any text without a slash,
                            ** any text (repeatable)
      --follow              also the processes that the targets of -p and -m start
  -l, --listen ADDR         serve at HOST:PORT, or at :PORT on all addresses; other than
                            loopback only with --token-file or --tls-client-ca
                            (default localhost:6070)
      --token-file FILE     clients must present the token in FILE
      --tls-cert FILE       serve by TLS with this certificate
      --tls-key FILE        and this key
      --tls-client-ca FILE  clients must present a certificate that this authority signed
      --push URL            send profiles of all targets continuously: http:// or https:// to
                            Pyroscope, otlp+http://, otlp+https://, otlp+grpc:// or
                            otlp+grpcs:// to what takes OTLP profiles
  -F, --rate HZ             samples per second of each processor (default 99; with --push 19)
      --timers WHEN         sample by timers of the processors, which stop no thread: auto
                            (where permitted), off or only
      --max-seconds TIME    the longest profile that a client may ask for (default 300)
      --max-clients N       how many profiles are taken at the same time (default 256)
  -q, --quiet               say nothing on standard error but errors
      --check               what works here, by which mechanism, and what to do about the
                            rest; with -p also for that process; also served at /check
      --json                with --check: for programs
      --version             print version and commit
      --print WHAT          print a man page (man), or the completion of a shell:
                            bash, zsh or fish
  -h, --help                print this help

Flags win over the file; targets of both are targets. At / is a page for people, at
/targets what Prometheus' HTTP service discovery reads, at /metrics what psampled costs.

examples:
  psampled -p 4242                       profiles of one process; then
  go tool pprof http://localhost:6070/debug/pprof/profile?seconds=10
  psampled -m comm=postgres,user=postgres -m 'exe=/opt/**' --follow
  psampled -m 'cgroup=/kubepods**' -l :6070 --token-file /etc/psampled/token
  psampled -c /etc/psampled/config.yaml
`

// settings are the settings of the flags and the file.
type settings struct {
	conf.Config
	rules []targets.Rule // of the flags
	file  string         // the configuration file; empty: none
	set   *pflag.FlagSet
	flags conf.Config // the settings of the flags, without the file
	quiet bool
}

// rawFlags are the values of flags before they are checked.
type rawFlags struct {
	settings
	pid, match []string
	cgroup     string
	follow     bool
	maxSeconds string
}

func (r *rawFlags) define() *pflag.FlagSet {
	fs := pflag.NewFlagSet("psampled", pflag.ContinueOnError)
	fs.Usage = func() {} // run prints help
	fs.StringVarP(&r.file, "config", "c", "", "")
	fs.StringSliceVarP(&r.pid, "pid", "p", nil, "")
	fs.StringVar(&r.cgroup, "cgroup", "", "")
	fs.StringArrayVarP(&r.match, "match", "m", nil, "")
	fs.BoolVar(&r.follow, "follow", false, "")
	fs.StringVarP(&r.Listen, "listen", "l", "localhost:6070", "")
	fs.StringVar(&r.TokenFile, "token-file", "", "")
	fs.StringVar(&r.TLS.Cert, "tls-cert", "", "")
	fs.StringVar(&r.TLS.Key, "tls-key", "", "")
	fs.StringVar(&r.TLS.ClientCA, "tls-client-ca", "", "")
	fs.StringVar(&r.Push.URL, "push", "", "")
	fs.Float64VarP(&r.Rate, "rate", "F", 0, "")
	fs.StringVar(&r.Timers, "timers", "auto", "")
	fs.StringVar(&r.maxSeconds, "max-seconds", "300", "")
	fs.IntVar(&r.MaxClients, "max-clients", 256, "")
	fs.BoolVarP(&r.quiet, "quiet", "q", false, "")
	fs.Bool("check", false, "")
	fs.Bool("json", false, "")
	usage.Flags(fs)
	return fs
}

// parse reads the command line and the file that it names.
func parse(args []string) (*settings, error) {
	var r rawFlags
	fs := r.define()
	if err := fs.Parse(args); err != nil {
		return nil, usage.Wrong(fs, help, err)
	}
	if err := usage.Asked(fs, help, map[string][]string{"timers": {"auto", "off", "only"}}); err != nil {
		return nil, err
	}
	if err := check.Asked(fs, r.pid); err != nil {
		return nil, err
	}
	if fs.Changed("json") {
		return nil, usage.Errorf("--json is for --check")
	}
	if fs.NArg() > 0 {
		return nil, unexpected(r.pid, fs.Args())
	}
	if err := r.targets(); err != nil {
		return nil, err
	}
	d, err := conf.ParseDuration(r.maxSeconds)
	if err != nil {
		return nil, usage.Errorf("--max-seconds: %v", err)
	}
	r.MaxSeconds = conf.Duration(d)
	r.set, r.flags = fs, r.Config
	if r.file != "" {
		c, err := conf.Read(r.file)
		if err != nil {
			return nil, err
		}
		r.merge(c)
	}
	return &r.settings, r.check()
}

// Default rates, of profiles that clients ask for and of those that are taken all the time.
const (
	askedRate = 99
	pushRate  = 19
)

// targets reads the rules of the flags.
func (r *rawFlags) targets() error {
	for _, text := range targets.Split(r.pid) {
		if err := r.named(text); err != nil {
			return err
		}
	}
	if len(r.pid) == 0 && r.cgroup != "" {
		if err := r.named(""); err != nil {
			return err
		}
	}
	for _, text := range r.match {
		rule, err := targets.ParseRule(text)
		if err != nil {
			return usage.Errorf("-m %s: %v%s", text, err, ruleMeant(text))
		}
		rule.Follow = r.follow
		r.rules = append(r.rules, rule)
	}
	switch {
	case len(r.rules) == 0 && r.follow:
		return usage.Errorf("--follow is about the targets of -p and -m, of which there are none")
	case len(r.rules) == 0 && r.file == "":
		return usage.Errorf("what to profile? -p PID, -p NAME, --cgroup GLOB, -m RULE, or -c FILE")
	}
	return nil
}

// named adds the rules for an argument of -p, within --cgroup.
func (r *rawFlags) named(text string) error {
	rules, err := targets.Named(text, r.cgroup)
	if err != nil {
		return usage.Errorf("%w", err)
	}
	for _, rule := range rules {
		rule.Follow = r.follow
		r.rules = append(r.rules, rule)
	}
	return nil
}

// unexpected says what is meant by arguments that are no flags.
func unexpected(pids, args []string) error {
	if err := usage.Several(pids, args); err != nil {
		return err
	}
	return usage.Errorf("unexpected argument %q: processes are named by -p, --cgroup and -m, as -p %[1]s", args[0])
}

// ruleMeant says which rule a text means that is none.
func ruleMeant(text string) string {
	if strings.ContainsAny(text, "=,") || text == "" {
		return ""
	}
	return "; -p " + text + " is for a name"
}

// merge takes from the file the settings that no flag gives.
func (s *settings) merge(c *conf.Config) {
	flags := s.Config
	s.Config = *c
	for _, d := range []struct {
		name  string
		empty bool
		set   func()
	}{
		{"listen", s.Listen == "", func() { s.Listen = flags.Listen }},
		{"token-file", s.TokenFile == "", func() { s.TokenFile = flags.TokenFile }},
		{"tls-cert", s.TLS.Cert == "", func() { s.TLS.Cert = flags.TLS.Cert }},
		{"tls-key", s.TLS.Key == "", func() { s.TLS.Key = flags.TLS.Key }},
		{"tls-client-ca", s.TLS.ClientCA == "", func() { s.TLS.ClientCA = flags.TLS.ClientCA }},
		{"push", s.Push.URL == "", func() { s.Push.URL = flags.Push.URL }},
		{"rate", s.Rate == 0, func() { s.Rate = flags.Rate }},
		{"timers", s.Timers == "", func() { s.Timers = flags.Timers }},
		{"max-seconds", s.MaxSeconds == 0, func() { s.MaxSeconds = flags.MaxSeconds }},
		{"max-clients", s.MaxClients == 0, func() { s.MaxClients = flags.MaxClients }},
	} {
		if d.empty || s.set.Changed(d.name) {
			d.set()
		}
	}
}

// allRules returns the rules of the flags and of the file.
func (s *settings) allRules() []targets.Rule {
	return append(append([]targets.Rule{}, s.rules...), s.Rules()...)
}

func (s *settings) period() time.Duration { return time.Duration(float64(time.Second) / s.Rate) }

// check finds settings that are impossible or not safe.
func (s *settings) check() error {
	if s.Rate == 0 && !s.set.Changed("rate") {
		s.Rate = askedRate
		if s.Push.URL != "" {
			s.Rate = pushRate
		}
	}
	if err := s.Push.Check(); err != nil {
		return usage.Errorf("%w", err)
	}
	switch {
	case !(s.Rate >= conf.MinRate && s.Rate <= conf.MaxRate):
		return usage.Errorf("the rate must be at least %v and at most %d samples a second", conf.MinRate, conf.MaxRate)
	case s.Timers != "auto" && s.Timers != "off" && s.Timers != "only":
		return usage.Errorf("unknown use of timers %q: auto, off or only", s.Timers)
	case s.MaxClients <= 0:
		return usage.Errorf("--max-clients must be more than 0")
	case (s.TLS.Cert == "") != (s.TLS.Key == ""):
		return usage.Errorf("--tls-cert and --tls-key need each other")
	case s.TLS.ClientCA != "" && s.TLS.Cert == "":
		return usage.Errorf("--tls-client-ca needs --tls-cert and --tls-key")
	}
	if err := listening.Check(s.Listen); err != nil {
		return usage.Errorf("--listen %w", err)
	}
	host, _, _ := net.SplitHostPort(s.Listen)
	if !isLoopback(host) && s.TokenFile == "" && s.TLS.ClientCA == "" {
		return usage.Errorf("profiles tell much of a process: --listen %s is not loopback, and needs --token-file or --tls-client-ca", s.Listen)
	}
	return nil
}

// isLoopback reports whether a host means this machine only. A name is resolved later, when the server
// listens, so localhost is the only trusted name.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
