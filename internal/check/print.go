package check

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"ptools/internal/clean"
)

// JSON writes the report as one object.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text writes the report as a table. A line that is indented says why the one above it is not yes, and, in parentheses,
// what can be done.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	p := &r.Program
	fmt.Fprintf(&b, "%s\n", r.Kernel)
	fmt.Fprintf(&b, "this program: uid %d, capabilities %s, seccomp %s, user namespace %s\n", p.UID, p.Capabilities, p.Seccomp, p.Namespace)
	fmt.Fprintf(&b, "lockdown %s", p.Lockdown)
	for _, name := range slices.Sorted(maps.Keys(p.Sysctls)) {
		fmt.Fprintf(&b, ", %s=%d", name, p.Sysctls[name])
	}
	if p.Modules != "" {
		fmt.Fprintf(&b, ", security modules %s", p.Modules)
	}
	b.WriteString("\n\n")
	table(&b, "feature", r.Lines)
	if r.PID != 0 {
		b.WriteByte('\n')
		table(&b, fmt.Sprintf("process %d", r.PID), r.Process)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes lines below a head.
func table(b *strings.Builder, head string, lines []Line) {
	width := len(head)
	for _, l := range lines {
		width = max(width, len(clean.Text(l.Feature)))
	}
	fmt.Fprintf(b, "%-*s  %-7s  %s\n", width, head, "works", "by")
	for _, l := range lines {
		row := fmt.Sprintf("%-*s  %-7s  %s", width, clean.Text(l.Feature), l.State, l.By)
		fmt.Fprintln(b, strings.TrimRight(row, " "))
		if l.Why == "" {
			continue
		}
		fmt.Fprintf(b, "    %s", clean.Text(l.Why))
		if l.Remedy != "" {
			fmt.Fprintf(b, " (%s)", clean.Text(l.Remedy))
		}
		b.WriteByte('\n')
	}
}
