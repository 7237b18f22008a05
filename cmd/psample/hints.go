package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ptools/internal/procfs"
	"ptools/internal/profile"
	"ptools/internal/sample"
)

// maxHints is how many hints there are at most.
const maxHints = 2

// Shares in percent from which something is worth a hint.
const (
	idleShare    = 1.0  // of one processor; below it nothing works
	unnamedShare = 20.0 // of the processor time
	pythonShare  = 50.0 // of the processor time
	starvedShare = 20.0 // of the wall time, ready
)

// hints returns what the user may do next, as the profile suggests, at most two lines.
func (s *session) hints(p *profile.Profile) []string {
	if p.Subject != profile.Time || s.cfg.quiet || p.Duration <= 0 {
		return nil
	}
	var hints []string
	total := p.Total()
	if 100*float64(total.CPU) < idleShare*float64(p.Duration) && total.Wall > 0 {
		if 100*float64(total.Ready) > starvedShare*float64(total.Wall) {
			hints = append(hints, "the threads wanted a processor and got none: other work has them, or a limit of the cgroup (cpu.max) holds the threads back")
		} else {
			hints = append(hints, s.idleHint())
		}
	}
	for _, u := range profile.UnnamedOf(p) {
		if s.files.Refuses(u.Object) || s.is32Bit(u.PID) { // a line of its own says why
			continue
		}
		if h := unnamedHint(&u, total.CPU); h != "" {
			hints = append(hints, h)
			break
		}
	}
	return hints[:min(len(hints), maxHints)]
}

// is32Bit reports whether a process has executed a 32-bit program.
func (s *session) is32Bit(pid int) bool {
	return s.cost != nil && slices.ContainsFunc(s.cost.Programs32, func(p sample.Program32) bool { return p.PID == pid })
}

// idleHint says what to do about a target that does not work.
func (s *session) idleHint() string {
	if !s.cfg.follow {
		if names := s.children(); names != "" {
			return fmt.Sprintf("nothing used the processor, and child processes (%s) are not sampled: --follow samples them, too", names)
		}
		if s.cost != nil && s.cost.Children > 0 {
			return fmt.Sprintf("nothing used the processor, and %d child processes are not sampled: --follow samples them, too", s.cost.Children)
		}
	}
	if len(s.cfg.pids) == 1 {
		return fmt.Sprintf("nothing used the processor, the threads waited: 'pgrab -w -p %d' shows for what", s.cfg.pids[0])
	}
	return "nothing used the processor, the threads waited: --value wall shows where"
}

// children names some children of the targets that live, other than targets.
func (s *session) children() string {
	var names []string
	targets := s.pids()
	for _, pid := range targets {
		tids, _ := procfs.Tasks(pid, nil)
		for _, tid := range tids {
			children, _ := procfs.Children(pid, tid)
			for _, child := range children {
				if slices.Contains(targets, child) {
					continue
				}
				if comm, err := procfs.ReadComm(child, child); err == nil && len(names) < 3 {
					names = append(names, fmt.Sprintf("%s %d", profile.Clean(comm), child))
				}
			}
		}
	}
	return strings.Join(names, ", ")
}

// unnamedHint says how code gets names; "" if it has enough of them. all is the processor time of all processes.
func unnamedHint(u *profile.Unnamed, all int64) string {
	share := func(ns int64) float64 { return 100 * float64(ns) / float64(max(all, 1)) }
	unnamed := fmt.Sprintf("%.0f %% of the processor time is in functions without names", share(u.Unnamed))
	is := func(names ...string) bool {
		for _, name := range names {
			if strings.HasPrefix(u.Program, name) {
				return true
			}
		}
		return false
	}
	switch {
	case is("python", "uwsgi", "gunicorn") && !u.Python && share(u.CPU) >= pythonShare:
		return "the functions of the interpreter are shown: with 'python3 -X perf' (3.12 or later) or PYTHONPERFSUPPORT=1 those of the program are, too"
	case share(u.Unnamed) < unnamedShare:
		return ""
	case u.Object != "":
		return fmt.Sprintf("%s, most of them in %s: install its debug symbols (or set DEBUGINFOD_URLS), or have it built without -s", unnamed, profile.Clean(path.Base(u.Object)))
	case is("pypy"):
		return unnamed + ": PyPy writes no names of compiled functions; CPython does ('python3 -X perf', 3.12 or later)"
	case is("java"):
		return fmt.Sprintf("%s: 'jcmd %d Compiler.perfmap' writes the names of compiled methods (JDK 17 or later), then sample again", unnamed, u.PID)
	case is("node", "nodejs", "deno", "bun", "chrome", "electron"):
		return unnamed + ": 'node --perf-basic-prof' writes the names of compiled functions"
	case is("php"):
		return unnamed + ": 'php -d opcache.jit_debug=0x10' writes the names of compiled functions"
	case is("dotnet"):
		return unnamed + ": DOTNET_PerfMapEnabled=1 writes the names of compiled methods"
	case is("ruby"):
		return unnamed + ": 'ruby --yjit-perf=map' writes the names of compiled methods (Ruby 3.3 or later)"
	case is("beam"):
		return unnamed + ": 'erl +JPperf true' writes the names of compiled functions (OTP 25 or later)"
	}
	return fmt.Sprintf("%s, most of them in memory that is in no file: if a compiler at run time made them, have it write /tmp/perf-%d.map", unnamed, u.PID)
}

// tellHints prints the hints.
func (s *session) tellHints(hints []string) {
	for _, h := range hints {
		fmt.Fprintf(s.stderr, "psample: hint: %s\n", h)
	}
}
