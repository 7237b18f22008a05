package targets

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A None is the error of Select when no process is meant.
type None struct{ what string }

func (n None) Error() string { return "no process " + n.what }

// longestComm is how many bytes the kernel keeps of a name.
const longestComm = 15

// Named returns the rules for what a command line names: processes with a number, with a name, with an executable of that
// name, or, if the text has a slash, with an executable of that path. Names and paths are patterns. With cgroup, another
// pattern, processes with a name are meant only in such a cgroup, and without a text all that are there.
func Named(text, cgroup string) ([]Rule, error) {
	switch pid, err := strconv.Atoi(text); {
	case err == nil && cgroup != "":
		return nil, fmt.Errorf("-p %s and a cgroup exclude each other", text)
	case err == nil && pid > 0:
		return []Rule{{PID: pid}}, nil
	case text == "" && cgroup != "":
		return check(Rule{Cgroup: cgroup})
	case err == nil || errors.Is(err, strconv.ErrRange) || strings.TrimSpace(text) == "" || strings.HasPrefix(text, "-"):
		return nil, fmt.Errorf("%q is not a process id", text)
	case strings.Contains(text, "/"):
		return check(Rule{Exe: text, Cgroup: cgroup})
	case len(text) > longestComm && !strings.ContainsAny(text, "*?"):
		return check(Rule{Exe: "**/" + text, Cgroup: cgroup})
	}
	return check(Rule{Comm: text, Cgroup: cgroup}, Rule{Exe: "**/" + text, Cgroup: cgroup})
}

func check(rules ...Rule) ([]Rule, error) {
	for _, r := range rules {
		if err := r.Check(); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// Split splits the arguments of -p, each of which is one text or several, separated by commas or blanks. So it takes what
// pidof(1) prints.
func Split(args []string) (texts []string) {
	for _, arg := range args {
		for part := range strings.SplitSeq(arg, ",") {
			if words := strings.Fields(part); len(words) > 0 {
				texts = append(texts, words...)
			} else {
				texts = append(texts, part)
			}
		}
	}
	return texts
}

// Select returns the processes that the arguments of -p and a cgroup mean now, each once. found says that some were looked
// for by name: they may end before they are grabbed. A process that a number names need not exist. The calling process is
// never meant by a name. If a name means no process, the error is a None.
func Select(args []string, cgroup string) (pids []int, found bool, err error) {
	texts := Split(args)
	if len(texts) == 0 && cgroup != "" {
		texts = []string{""}
	}
	add := func(pid int) {
		if !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	for _, text := range texts {
		rules, err := Named(text, cgroup)
		switch {
		case err != nil:
			return nil, false, err
		case rules[0].PID != 0:
			add(rules[0].PID)
			continue
		}
		w, err := NewWatcher(rules)
		if err != nil {
			return nil, false, err
		}
		list := w.Targets()
		if len(list) == 0 {
			return nil, false, None{rules[0].missing(w)}
		}
		found = true
		for _, t := range list {
			add(t.PID)
		}
	}
	return pids, found, nil
}

// missing says what no process is.
func (r Rule) missing(w *Watcher) string {
	in := ""
	if r.Cgroup != "" {
		in = fmt.Sprintf(" in a cgroup %q", r.Cgroup)
	}
	switch {
	case r.Comm != "":
		return fmt.Sprintf("has the name %q%s%s", r.Comm, in, w.similar(r.Comm))
	case r.Exe != "":
		return fmt.Sprintf("executes %q%s", strings.TrimPrefix(r.Exe, "**/"), in)
	}
	return "is" + in
}

// similar names a process whose name is nearly that.
func (w *Watcher) similar(name string) string {
	best := ""
	for _, p := range w.known {
		if p.comm != "" && (strings.EqualFold(p.comm, name) || len(name) > 2 && strings.Contains(p.comm, name)) && (best == "" || p.comm < best) {
			best = p.comm
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (similar: %s)", best)
}
