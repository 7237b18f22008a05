package main

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"ptools/internal/calls"
	"ptools/internal/clean"
	"ptools/internal/perfevent"
)

// mostInlined is with how many functions at most the copies that were inlined are looked for, which takes long.
const mostInlined = 32

// jsonPlan is a line of --list in JSON. Offsets are from the beginning of the function.
type jsonPlan struct {
	Function string   `json:"function"`
	Raw      string   `json:"raw"`
	Object   string   `json:"object"`
	Address  uint64   `json:"address"` // in the file
	Size     uint64   `json:"size"`
	Refused  string   `json:"refused,omitempty"`
	Entry    *int64   `json:"entry,omitempty"`
	Emulated bool     `json:"emulated"`
	Returns  []int64  `json:"returns,omitempty"`
	Tails    []int64  `json:"tail_calls,omitempty"`
	Untimed  string   `json:"untimed,omitempty"`
	Doubt    string   `json:"doubt,omitempty"`
	Inlined  []string `json:"inlined_in,omitempty"`
	Cost     *int64   `json:"cost_ns,omitempty"` // of a call that is timed; absent: not known
}

// planOf describes a function for --list. The cost of probes may be nil.
func planOf(process *calls.Process, t *calls.Target, inlined bool, cost *calls.Cost) jsonPlan {
	j := jsonPlan{Function: t.Name, Raw: t.Raw, Object: t.Object, Address: t.Start, Size: t.End - t.Start}
	if inlined {
		j.Inlined = process.Inlined(t)
	}
	if t.Err != nil {
		j.Refused = t.Err.Error()
		return j
	}
	entry := int64(t.Plan.Entry.Addr - t.Start)
	j.Entry, j.Emulated, j.Doubt = &entry, t.Plan.Entry.Emulated, t.Plan.Doubt
	for _, p := range t.Plan.Returns {
		if at := int64(p.Addr - t.Start); p.Tail {
			j.Tails = append(j.Tails, at)
		} else {
			j.Returns = append(j.Returns, at)
		}
	}
	switch e := &t.Plan.Entry; {
	case e.Return:
		j.Returns = append(j.Returns, entry)
	case e.Tail:
		j.Tails = append(j.Tails, entry)
	}
	if cost != nil {
		n := int64(t.CallCost(*cost))
		j.Cost = &n
	}
	if t.Plan.Whole != nil {
		j.Untimed = t.Plan.Whole.Error()
	}
	return j
}

// printList prints where the probes would be. The cost of probes is in the spec, unless it is not known.
func (s *session) printList(process *calls.Process, found *calls.Selection, spec *calls.Spec, unmeasured error) error {
	cost := &spec.Cost
	if unmeasured != nil {
		cost = nil
	}
	w := bufio.NewWriter(s.stdout)
	inlined := len(found.Targets) <= mostInlined
	if !s.json {
		fmt.Fprintf(w, "%-18s %-9s %7s %5s %8s  %s\n", "ENTRY", "PROBE", "RETURNS", "TAILS", "A CALL", "FUNCTION")
	}
	for i := range found.Targets {
		t := &found.Targets[i]
		p := planOf(process, t, inlined, cost)
		if s.json {
			if err := writeJSON(w, p); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(w, p.line())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if perfevent.EndWithThread() {
		s.say("before Linux 6.6 probes are events of the kernel's tracing: no calls are counted after the end of the first thread")
	}
	if !inlined {
		s.say("copies that were inlined are looked for with at most %d functions, and these are %d", mostInlined, len(found.Targets))
	}
	return nil
}

// line is the plan as text.
func (p *jsonPlan) line() string {
	name := clean.Text(p.Function + " in " + clean.Base(p.Object))
	for _, note := range []string{p.Refused, p.Untimed, p.Doubt} {
		if note != "" {
			name += "; " + clean.Text(note)
		}
	}
	if len(p.Inlined) > 0 {
		name += "; not counted where it was inlined: " + clean.Text(strings.Join(p.Inlined, ", "))
	}
	if p.Entry == nil {
		return fmt.Sprintf("%-18s %-9s %7s %5s %8s  %s", fmt.Sprintf("%#x", p.Address), "none", "-", "-", "-", name)
	}
	probe := "stepped"
	if p.Emulated {
		probe = "emulated"
	}
	cost := "-"
	if p.Cost != nil {
		cost = duration(time.Duration(*p.Cost))
	}
	return fmt.Sprintf("%-18s %-9s %7d %5d %8s  %s", fmt.Sprintf("%#x+%#x", p.Address, *p.Entry), probe, len(p.Returns), len(p.Tails), cost, name)
}
