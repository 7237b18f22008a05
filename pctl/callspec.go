package pctl

import (
	"errors"
	"fmt"
	"time"

	"ptools/internal/calls"
)

// CallSpec says which calls a Calls counts, and what it tells of them.
type CallSpec struct {
	// Functions are patterns as pcalls takes them (doc/pcalls.md): [OBJECT`]PATTERN[(CONDITION)], as "libc`write" or
	// "main.handle(id > 7)". Each must name a function. OBJECT may be the path of a file that the process maps later, or that a program has which
	// it executes.
	Functions []string
	// Each has a KindCall for each call, when it ends. Args and Where without Slower do so, too.
	Each bool
	// Slower has a KindCall for each call that takes at least as long. The kernel chooses them.
	Slower time.Duration
	// Args: a KindCall has the arguments and the results.
	Args bool
	// Where: a KindCall has the stack at the end of the call.
	Where bool
	// StackSize is how much of each stack is copied, in bytes; 0: 16 KB. It is at most 256 KB. Where a stack has more, its outer part may be missing (Call.Cut).
	StackSize int
	// Scope is the process alone, or with children.
	Scope CallScope
	// By tells calls apart in the statistics: an argument or a member of one, return, thread, process (with CallsOfChildren), goroutine, caller, or stack. Empty: by
	// function only.
	// With stack there are no events.
	By string
	// Sum is a number that is summed in the statistics: arguments, members of them and numbers with + - *, or return. Empty: none.
	Sum string
	// Trap is what counts: TrapUprobe the kernel, and TrapInt3 this program, at int3s, which takes a Process that is controlled. TrapAuto takes int3s where the
	// kernel refuses uprobes and the Process is controlled.
	Trap Trap
}

// A CallScope says in which processes calls are counted.
type CallScope uint8

const (
	// CallsOfProcess counts in the process until it executes another program.
	CallsOfProcess CallScope = iota
	// CallsOfChildren also counts in the children that it has from Calls on, and in theirs, and in programs that any of them executes, as far as those
	// have the same files mapped. With Args or Where, and by caller or stack, counting ends in a process that executes another program: whose functions are at
	// the addresses is known of the first one alone. The probes are in all processes that have the files mapped, and take time there, too. It takes
	// Linux 6.6, and the first PID namespace.
	CallsOfChildren
)

// ErrNoFunction is the cause where a pattern of a CallSpec names no function.
var ErrNoFunction = errors.New("no such function")

// noFunction is an ErrNoFunction that says more.
type noFunction struct{ *calls.NotFound }

func (noFunction) Is(target error) bool { return target == ErrNoFunction }

// queued is how many events wait at most. Further calls wait in the kernel.
const queued = 1024

// parse reads what is asked for.
func (c *Calls) parse(spec *CallSpec) (patterns []calls.Pattern, err error) {
	if spec == nil || len(spec.Functions) == 0 {
		return nil, errors.New("no functions are named")
	}
	for _, text := range spec.Functions {
		p, err := calls.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("%q is no pattern: %w", text, err)
		}
		patterns = append(patterns, p)
	}
	s := &c.spec
	c.trap = spec.Trap
	s.Follow = spec.Scope == CallsOfChildren
	s.CallReports = calls.CallReports{Each: spec.Slower <= 0 && (spec.Each || spec.Args || spec.Where), Least: max(spec.Slower, 0), Values: spec.Args, Stack: spec.Where, StackSize: max(spec.StackSize, 0)}
	if spec.By != "" {
		if s.By, err = calls.ParseKey(spec.By); err != nil {
			return nil, fmt.Errorf("by %q: %w", spec.By, err)
		}
	}
	if spec.Sum != "" {
		if s.Sum, err = calls.ParseSum(spec.Sum); err != nil {
			return nil, fmt.Errorf("sum %q: %w", spec.Sum, err)
		}
	}
	events := s.Each || s.Least > 0
	if s.By.Stack() && events {
		return nil, errors.New("by stack: calls that are told apart by their stacks have no events")
	}
	c.queue = make(chan Event, 1)
	if events {
		c.queue = make(chan Event, queued)
	}
	return patterns, nil
}
