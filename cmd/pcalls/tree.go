package main

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"ptools/internal/calls"
	"ptools/internal/clean"
	"ptools/internal/fit"
	"ptools/internal/perfevent"
	"ptools/internal/usage"
)

// depth is how many levels of a tree are printed. 0: no tree.
type depth int

// allLevels is the depth without a bound, and its name as the flag has it.
const (
	allLevels     depth = 1 << 30
	allLevelsName       = "all"
)

func (d depth) on() bool { return d > 0 }

func (d *depth) String() string { return strconv.Itoa(int(*d)) }
func (d *depth) Type() string   { return "DEPTH" }

func (d *depth) Set(text string) error {
	if *d = allLevels; text == allLevelsName {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return errors.New("not a number of levels")
	}
	*d = depth(n)
	return nil
}

func (d *depth) add(fs *pflag.FlagSet) {
	fs.Var(d, "tree", "")
	fs.Lookup("tree").NoOptDefVal = allLevelsName
}

// nested checks what goes with a tree.
func (r *rawFlags) nested(fs *pflag.FlagSet) error {
	if !r.tree.on() {
		return nil
	}
	for _, name := range []string{"by", "sum", "output", "slower", "args", "where", "list"} {
		if fs.Changed(name) {
			return usage.Errorf("--tree prints calls as they were nested: --%s does not go with it", name)
		}
	}
	r.config.by = calls.ByPath()
	return nil
}

// A branch is a node of a tree that is printed.
type branch struct {
	*calls.Node
	path []string // the names of the functions, outermost first, itself included
}

// branches returns the nodes of a tree that are printed, callers before those that they have called.
func (s *session) branches(nodes []*calls.Node, path []string) (all []branch) {
	for _, n := range nodes {
		name := "(" + string(calls.CutStack) + ")"
		if n.Target != nil {
			name = n.Name
		}
		b := branch{n, append(path[:len(path):len(path)], name)}
		all = append(all, b)
		if depth(len(b.path)) < s.tree {
			all = append(all, s.branches(n.Callees, b.path)...)
		}
	}
	return all
}

// rowsOf returns the rows by their functions.
func rowsOf(rows []row) map[*calls.Target]*row {
	of := map[*calls.Target]*row{}
	for i := range rows {
		of[rows[i].target] = &rows[i]
	}
	return of
}

// printTree prints a tree. rows are the functions.
func (s *session) printTree(nodes []*calls.Node, rows []row, length time.Duration) error {
	all := s.branches(nodes, nil)
	of := rowsOf(rows)
	width, n := s.room(len(all))
	if s.json {
		return s.printTreeJSON(all[:n], of)
	}
	if err := s.printBranches(all[:n], of, length, width, ""); err != nil {
		return err
	}
	shown := ""
	if n < len(all) {
		shown = fmt.Sprintf("%d of %d lines are shown, ", n, len(all))
	}
	watch := s.parts[0].watch
	if full := watch.Full(); full > 0 {
		s.say("%s in (%s): there is room for %d paths", counted(full, "call is", "calls are"), calls.NoStack, perfevent.MostGroups)
	}
	if cut := watch.Cut(); cut > 0 {
		s.say("%s stacks that are cut, and below (%s): the time of callers without callees may have theirs", counted(cut, "call has", "calls have"), calls.CutStack)
	}
	if slices.ContainsFunc(rows, func(r row) bool { return r.coverage.Partly }) {
		s.say("some functions were counted for a part of the time: the time of their callers without callees has that of calls which were not seen")
	}
	s.tellEnd(rows, shown, length)
	return nil
}

// printBranches prints lines of a tree, and an empty one behind them if they have a head.
func (s *session) printBranches(all []branch, of map[*calls.Target]*row, length time.Duration, width int, head string) error {
	w := bufio.NewWriter(s.stdout)
	w.WriteString(head)
	fmt.Fprintf(w, "%10s %8s %8s %8s %8s %8s  %s\n", "CALLS", "TOTAL", "SELF", "P50", "P99", "MAX", "FUNCTION")
	for i := range all {
		b := &all[i]
		line := fmt.Sprintf("%10d %8s %8s %8s %8s %8s  %s", b.Calls, b.time(b.Sum), b.self(), b.time(calls.Quantile(&b.Stats, .5)),
			b.time(calls.Quantile(&b.Stats, .99)), b.time(b.Max), strings.Repeat("  ", len(b.path)-1))
		name := clean.Text(b.path[len(b.path)-1])
		if b.Rest == calls.NoStack {
			name += " (" + string(b.Rest) + ")"
		}
		if r := of[b.Target]; r != nil {
			name += r.partly(length)
		}
		if width > 0 {
			name = fit.Cut(name, max(width-len(line), 8))
		}
		fmt.Fprintln(w, line+name)
	}
	if head != "" {
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// time returns a time of calls, if any has ended.
func (b *branch) time(d time.Duration) string {
	if b.Returned == 0 {
		return "-"
	}
	return duration(d)
}

// self returns the time without that of the calls that were made, if it is known of each call that has ended.
func (b *branch) self() string {
	if b.Rest != calls.None || b.Unclear > 0 {
		return "-"
	}
	return b.time(b.Self)
}

// printTreeJSON prints an object a line.
func (s *session) printTreeJSON(all []branch, of map[*calls.Target]*row) error {
	w := bufio.NewWriter(s.stdout)
	for i := range all {
		b := &all[i]
		if b.Target == nil {
			continue // what is below has it in its path
		}
		r := row{target: b.Target, stats: b.Stats}
		j := jsonStats(&r)
		j.Path, j.Rest = b.path, string(b.Rest)
		if whole := of[b.Target]; whole != nil {
			j.jsonCoverage = coverageJSON(&whole.coverage)
		}
		if self := int64(b.Self); b.Returned > 0 && b.self() != "-" {
			j.Self = &self
		}
		if err := writeJSON(w, j); err != nil {
			return err
		}
	}
	return w.Flush()
}
