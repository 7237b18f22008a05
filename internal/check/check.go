// Package check finds out what the tools can do on this machine, with the rights that this program has. It tries each
// thing for real, on child processes of its own, and says by which mechanism it works or what is missing. It takes about
// a second.
//
// The children are this program itself: the package's init function runs them, in programs that import the package, if an
// environment variable says so. They end when this program does.
package check

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"

	"ptools/internal/need"
	"ptools/internal/procfs"
	"ptools/pctl"
)

// A State says how far something works.
type State uint8

const (
	No      State = iota // nothing stands in for it
	Instead              // something else does what it would do, less well
	Yes
	Untried // no child could be made that would show it
)

var stateNames = [...]string{"no", "instead", "yes", "untried"}

// String returns a word for it.
func (s State) String() string { return stateNames[s] }

// MarshalText implements encoding.TextMarshaler.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Line is one thing that was tried.
type Line struct {
	Feature string `json:"feature"`
	State   State  `json:"state"`
	By      string `json:"by,omitempty"`     // the mechanism, also of what is used instead
	Cause   string `json:"cause,omitempty"`  // kind of what is missing, a word of [need.Cause]
	Why     string `json:"why,omitempty"`    // what is missing
	Remedy  string `json:"remedy,omitempty"` // what the user can do about it
}

// A Report is what a check has found.
type Report struct {
	Kernel  string  `json:"kernel"`
	Program Program `json:"program"`
	Lines   []Line  `json:"features"`
	PID     int     `json:"pid,omitempty"`     // the process that Process is about; 0: none
	Process []Line  `json:"process,omitempty"` // what works with that process
}

// Program is what decides about this program.
type Program struct {
	UID          int            `json:"uid"`
	Capabilities string         `json:"capabilities"`
	Namespace    string         `json:"user_namespace"`
	Seccomp      string         `json:"seccomp"`
	Lockdown     string         `json:"lockdown"`
	Modules      string         `json:"security_modules,omitempty"`
	Sysctls      map[string]int `json:"sysctls"`
}

// shown are the sysctls of a Program.
var shown = []string{
	"kernel.perf_event_paranoid", "kernel.unprivileged_bpf_disabled", "kernel.yama.ptrace_scope", "kernel.kptr_restrict",
}

// Run tries everything. pid is a process to look at as well; 0: none. ctx bounds the time. Any goroutine may call it.
func Run(ctx context.Context, pid int) *Report {
	pctl.Guard()
	r := &Report{Kernel: kernel(), Program: program(need.Now()), PID: pid}
	r.Lines = tryAll(ctx)
	if pid != 0 {
		r.Process = tryProcess(ctx, pid)
	}
	return r
}

func kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS + " " + runtime.GOARCH
	}
	return "Linux " + string(b[:max(len(b)-1, 0)]) + " " + runtime.GOARCH
}

func program(h *need.Here) Program {
	p := Program{
		UID: h.UID, Capabilities: h.Capabilities(), Namespace: "the first", Seccomp: "none", Lockdown: h.Lockdown.String(),
		Modules: h.Modules, Sysctls: make(map[string]int),
	}
	if !h.InFirst {
		p.Namespace = "not the first"
	}
	if h.Filtered {
		p.Seccomp = "filter"
	}
	for _, name := range shown {
		if n, ok := h.Sysctl(name); ok {
			p.Sysctls[name] = n
		}
	}
	return p
}

// works is the Line of what works.
func works(feature, by string) Line { return Line{Feature: feature, State: Yes, By: by} }

// refused is the Line of what does not work. instead is what is used then; empty: nothing.
func refused(feature string, f *need.Feature, err error, instead string) Line {
	l := Line{Feature: feature, State: No, By: instead}
	if instead != "" {
		l.State = Instead
	}
	var r *need.Refusal
	if f != nil {
		err = f.Explain(err)
	}
	if errors.As(err, &r) {
		if r.Cause != need.Unknown {
			l.Cause = r.Cause.String()
		}
		l.Remedy = r.Remedy
		bare := *r
		bare.Remedy = ""
		l.Why = bare.Error()
	} else {
		l.Why, l.Remedy = cut(err)
	}
	return l
}

// untried is the Line of what no child could show.
func untried(feature string, err error) Line {
	return Line{Feature: feature, State: Untried, Why: err.Error()}
}

// Works reports whether a feature works by its best mechanism.
func (r *Report) Works(feature string) bool {
	for _, l := range r.Lines {
		if l.Feature == feature {
			return l.State == Yes
		}
	}
	return false
}

// self is the path of this program.
func self() string { return "/proc/" + strconv.Itoa(os.Getpid()) + "/exe" }

// ownPID is false where /proc is not that of this program's PID namespace.
func ownPID() error { return procfs.CheckOwn() }
