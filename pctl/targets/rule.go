package targets

import (
	"errors"
	"fmt"
	"os/user"
	"regexp"
	"strconv"
	"strings"
)

// A Rule says which processes are targets: those that match all its fields. A pattern matches the whole text. In it
// * is any text without a slash, ** is any text, and ? is one character other than a slash.
type Rule struct {
	PID    int    // zero: any
	Comm   string // pattern for the name of the process, of at most 15 bytes; empty: any
	Exe    string // pattern for the path of the executable; empty: any
	Cgroup string // pattern for the path in the cgroup hierarchy; empty: any
	User   string // name or number of the effective user; empty: any
	// Follow makes the descendants of these processes targets, too.
	Follow bool
}

// ParseRule reads a rule like comm=postgres,user=postgres. Its keys are comm, exe, cgroup and user.
func ParseRule(text string) (r Rule, err error) {
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return Rule{}, fmt.Errorf("%q is not of the form comm=NAME, exe=GLOB, cgroup=GLOB or user=NAME", part)
		}
		field := map[string]*string{"comm": &r.Comm, "exe": &r.Exe, "cgroup": &r.Cgroup, "user": &r.User}[key]
		switch {
		case field == nil:
			return Rule{}, fmt.Errorf("unknown key %q: comm, exe, cgroup or user", key)
		case *field != "":
			return Rule{}, fmt.Errorf("%s is there twice", key)
		}
		*field = value
	}
	return r, r.Check()
}

// Check returns what is wrong with a rule, or nil.
func (r Rule) Check() error {
	_, err := r.compile()
	return err
}

// String returns the rule as ParseRule reads it, or one that names a process by its number.
func (r Rule) String() string {
	var parts []string
	if r.PID != 0 {
		parts = append(parts, "pid="+strconv.Itoa(r.PID))
	}
	for _, p := range [][2]string{{"comm", r.Comm}, {"exe", r.Exe}, {"cgroup", r.Cgroup}, {"user", r.User}} {
		if p[1] != "" {
			parts = append(parts, p[0]+"="+p[1])
		}
	}
	return strings.Join(parts, ",")
}

// compiled is a rule as it is applied.
type compiled struct {
	Rule
	comm, exe, cgroup *regexp.Regexp // nil: any
	uid               int            // -1: any
	start             uint64         // start time of PID when the rule was set; 0: there was no such process
}

func (r Rule) compile() (*compiled, error) {
	c := &compiled{Rule: r, uid: -1}
	if r == (Rule{Follow: r.Follow}) {
		return nil, errors.New("a rule says nothing: it needs a pid, comm, exe, cgroup or user")
	}
	if r.PID < 0 {
		return nil, &KeyError{"pid", fmt.Errorf("%d is not a process id", r.PID)}
	}
	if len(r.Comm) > 15 && !strings.ContainsAny(r.Comm, "*?") {
		return nil, &KeyError{"comm", fmt.Errorf("comm %q is longer than the 15 bytes that the kernel keeps of a name", clipped(r.Comm))}
	}
	for _, p := range []struct {
		key, glob string
		compiled  **regexp.Regexp
	}{{"comm", r.Comm, &c.comm}, {"exe", r.Exe, &c.exe}, {"cgroup", r.Cgroup, &c.cgroup}} {
		if err := bounded(p.glob); err != nil {
			return nil, &KeyError{p.key, fmt.Errorf("%s %q: %w", p.key, clipped(p.glob), err)}
		}
		*p.compiled = pattern(p.glob)
	}
	if r.User != "" {
		uid, err := lookupUser(r.User)
		if err != nil {
			return nil, &KeyError{"user", err}
		}
		c.uid = uid
	}
	return c, nil
}

// KeyError is what is wrong with one part of a rule, named as in ParseRule.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *KeyError) Unwrap() error { return e.Err }

// Bounds of a pattern. Each process's texts are matched with it. The cost in time and memory grows with both: a
// pattern of 300,000 bytes took 154 MB.
const (
	longestPattern = 4096 // as a path (PATH_MAX)
	mostWildcards  = 64   // * and **
)

func bounded(glob string) error {
	if len(glob) > longestPattern {
		return fmt.Errorf("a pattern of %d bytes; the longest has %d", len(glob), longestPattern)
	}
	if n := strings.Count(strings.ReplaceAll(glob, "**", "*"), "*"); n > mostWildcards {
		return fmt.Errorf("a pattern with %d wildcards; there may be %d", n, mostWildcards)
	}
	return nil
}

// clipped returns the beginning of a text, for an error.
func clipped(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

func lookupUser(name string) (int, error) {
	if uid, err := strconv.Atoi(name); err == nil && uid >= 0 {
		return uid, nil
	}
	u, err := user.Lookup(name)
	if _, ok := errors.AsType[user.UnknownUserError](err); ok {
		return 0, fmt.Errorf("there is no user %q", name)
	}
	if err != nil {
		return 0, fmt.Errorf("user %q: %w", name, err)
	}
	return strconv.Atoi(u.Uid)
}

// pattern compiles a pattern, nil for an empty one.
func pattern(glob string) *regexp.Regexp {
	if glob == "" {
		return nil
	}
	text := regexp.QuoteMeta(glob)
	text = strings.NewReplacer(`\*\*`, `.*`, `\*`, `[^/]*`, `\?`, `[^/]`).Replace(text)
	return regexp.MustCompile(`(?s)\A` + text + `\z`)
}

// matches reports whether the rule asks for p. It reads only what the rule needs.
func (c *compiled) matches(p *process) bool {
	switch {
	case c.PID != 0 && (c.PID != p.pid || c.start != p.start),
		c.comm != nil && !c.comm.MatchString(p.comm),
		c.uid >= 0 && p.user() != c.uid,
		c.exe != nil && !c.exe.MatchString(p.exe()),
		c.cgroup != nil && !c.cgroup.MatchString(p.cgroup()):
		return false
	}
	return true
}
