// Package conf reads psampled's configuration, a YAML file. Every key in it must be known, and the addresses, rules and
// limits must be possible. Errors name the line.
package conf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"ptools/internal/listening"
	"ptools/internal/patience"
	"ptools/pctl/push"
	"ptools/pctl/targets"
)

// Config is a configuration. Settings that are not in the file are zero.
type Config struct {
	Listen     string   `yaml:"listen"`
	TokenFile  string   `yaml:"token_file"`
	TLS        TLS      `yaml:"tls"`
	Rate       float64  `yaml:"rate"`
	Timers     string   `yaml:"timers"`
	MaxSeconds Duration `yaml:"max_seconds"`
	MaxClients int      `yaml:"max_clients"`
	Targets    []Target `yaml:"targets"`
	Push       Push     `yaml:"push"`
}

// Push says where profiles are sent continuously. Without a URL none are sent.
type Push struct {
	URL       string            `yaml:"url"`
	TokenFile string            `yaml:"token_file"`
	Headers   map[string]string `yaml:"headers"`
	Labels    map[string]string `yaml:"labels"`
	Interval  Duration          `yaml:"interval"`
}

// Pusher returns p as a configuration of package push.
func (p *Push) Pusher() push.Config {
	c := push.Config{URL: p.URL, TokenFile: p.TokenFile, Labels: p.Labels, Header: make(http.Header)}
	for name, value := range p.Headers {
		c.Header.Set(name, value)
	}
	return c
}

// Bounds of Push.Interval.
const (
	minInterval = time.Second
	maxInterval = 10 * time.Minute
)

// Check returns what is wrong with p, or nil.
func (p *Push) Check() error {
	d := time.Duration(p.Interval)
	switch {
	case p.URL != "":
		if d != 0 && (d < minInterval || d > maxInterval) {
			return fmt.Errorf("an interval of %v is not from %v to %v", d, minInterval, maxInterval)
		}
		return p.Pusher().Check()
	case p.TokenFile != "" || p.Headers != nil || p.Labels != nil || p.Interval != 0:
		return errors.New("push has no url")
	}
	return nil
}

// TLS has the files for an encrypted server.
type TLS struct {
	Cert     string `yaml:"cert"`
	Key      string `yaml:"key"`
	ClientCA string `yaml:"client_ca"` // authority for the certificates that clients must present
}

// Target is a rule for targets.
type Target struct {
	PID    int    `yaml:"pid"`
	Comm   string `yaml:"comm"`
	Exe    string `yaml:"exe"`
	Cgroup string `yaml:"cgroup"`
	User   string `yaml:"user"`
	Follow bool   `yaml:"follow"`
}

// Rules returns the rules for targets.
func (c *Config) Rules() []targets.Rule {
	rules := make([]targets.Rule, len(c.Targets))
	for i, t := range c.Targets {
		rules[i] = targets.Rule(t)
	}
	return rules
}

// Duration is a length of time: a number of seconds, or a text like 1m30s.
type Duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := ParseDuration(n.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	*d = Duration(v)
	return nil
}

// ParseDuration reads a number of seconds, or a text like 1m30s. It must be positive.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, numErr := strconv.ParseFloat(text, 64); numErr == nil {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a positive number of seconds or a duration like 1m30s", text)
	}
	return d, nil
}

// mostFile bounds the size of a file.
const mostFile = 1 << 20

// Read reads a file. An error names the file and, if it is about the contents, the line.
func Read(path string) (*Config, error) {
	text, err := patience.ReadFile(path, mostFile)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		var at *Error
		if errors.As(err, &at) {
			return nil, fmt.Errorf("%s:%d: %w", path, at.Line, at.Err)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Error is an error in a configuration, and its line.
type Error struct {
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Parse reads a configuration. Its errors are of type *Error, if they are about a line.
func Parse(text []byte) (*Config, error) {
	c := new(Config)
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, located(err)
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one document")
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, located(err)
	}
	if err := strict(&root); err != nil {
		return nil, err
	}
	return c, c.check(&root)
}

// strict finds values that the library would change silently. It leaves out empty entries of lists, and drops the
// fraction of a number where a process or a count is expected.
func strict(n *yaml.Node) error {
	for i, child := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode && child.Tag == "!!null":
			return &Error{child.Line, errors.New("an entry of a list is empty")}
		case n.Kind == yaml.MappingNode && i%2 == 1 && child.Tag == "!!float" && (n.Content[i-1].Value == "pid" || n.Content[i-1].Value == "max_clients"):
			return &Error{child.Line, fmt.Errorf("%s %s is not a whole number", n.Content[i-1].Value, child.Value)}
		}
		if err := strict(child); err != nil {
			return err
		}
	}
	return nil
}

var (
	lineOf  = regexp.MustCompile(`line (\d+): (.*)`)
	unknown = regexp.MustCompile(`^field (\S+) not found in type (\S+)`)
	unlike  = regexp.MustCompile("^cannot unmarshal (\\S+) (?:`(.*)` )?into (\\S+)")
)

// kinds says what is expected for a Go type in an error of the library.
var kinds = map[string]string{
	"bool": "true or false", "int": "a whole number", "float64": "a number", "string": "a text",
	"[]conf.Target": "a list of rules (- comm: postgres)", "conf.Target": "a rule (comm: postgres)",
	"conf.Push": "keys below it (url: https://…)", "conf.TLS": "keys below it (cert: FILE)", "conf.Config": "keys (listen: HOST:PORT)",
	"map[string]string": "keys with texts below it",
}

// located finds the line in an error of the library, and says it without the names of our types.
func located(err error) error {
	m := lineOf.FindStringSubmatch(err.Error())
	if m == nil {
		if what, ok := strings.CutPrefix(err.Error(), "yaml: "); ok { // it has none for the first line
			m = []string{"", "1", what}
		} else {
			return err
		}
	}
	line, _ := strconv.Atoi(m[1])
	what := m[2]
	if u := unknown.FindStringSubmatch(what); u != nil {
		what = fmt.Sprintf("unknown key %q", u[1])
	} else if u := unlike.FindStringSubmatch(what); u != nil && kinds[u[3]] != "" {
		found := map[string]string{"!!seq": "a list", "!!map": "keys"}[u[1]]
		what = fmt.Sprintf("there is %s where %s is expected", cmp.Or(found, strconv.Quote(u[2])), kinds[u[3]])
	} else if strings.HasPrefix(what, "found character that cannot start any token") {
		what = "a tab, or another character that cannot begin a value; lines are indented by blanks"
	}
	return &Error{line, errors.New(what)}
}

// MinRate and MaxRate are the fewest and the most samples a second.
const (
	MinRate = 0.001
	MaxRate = 1000
)

// check finds impossible settings.
func (c *Config) check(root *yaml.Node) error {
	at := func(err error, path ...any) error { return &Error{lineAt(root, path...), err} }
	for i, r := range c.Rules() {
		var part *targets.KeyError
		if err := r.Check(); errors.As(err, &part) {
			return at(err, "targets", i, part.Key)
		} else if err != nil {
			return at(err, "targets", i)
		}
	}
	if err := c.Push.Check(); err != nil {
		return at(err, "push")
	}
	if c.Listen != "" {
		if err := listening.Check(c.Listen); err != nil {
			return at(fmt.Errorf("listen %w", err), "listen")
		}
	}
	switch {
	case c.Rate != 0 && !(c.Rate >= MinRate && c.Rate <= MaxRate): // false for NaN as well
		return at(fmt.Errorf("rate %v is not at least %v and at most %d samples a second", c.Rate, MinRate, MaxRate), "rate")
	case c.MaxClients < 0:
		return at(errors.New("max_clients is less than 0"), "max_clients")
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return at(errors.New("tls needs both cert and key"), "tls")
	case c.TLS.ClientCA != "" && c.TLS.Cert == "":
		return at(errors.New("tls.client_ca needs cert and key"), "tls", "client_ca")
	case c.Timers != "" && c.Timers != "auto" && c.Timers != "off" && c.Timers != "only":
		return at(fmt.Errorf("timers %q is not auto, off or only", c.Timers), "timers")
	}
	return nil
}

// lineAt returns the line of the node that keys and indices lead to; if the last is a key, that of the key.
func lineAt(n *yaml.Node, path ...any) int {
	if n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	line := n.Line
	for _, step := range path {
		var next *yaml.Node
		switch key := step.(type) {
		case string:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == key {
					line, next = n.Content[i].Line, n.Content[i+1]
				}
			}
		case int:
			if key < len(n.Content) {
				next = n.Content[key]
				line = next.Line
			}
		}
		if next == nil {
			break
		}
		n = next
	}
	return cmp.Or(line, 1)
}
