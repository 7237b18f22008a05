package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// report is everything that is printed or saved.
type report struct {
	Machine machine `json:"machine"`
	Quick   bool    `json:"quick"`
	Repeats int     `json:"repeats"`
	Rows    []row   `json:"rows"`
}

// The heads of the two tables: of goals, and of every tool that was measured.
var (
	goalHeads = []string{"what", "best peer", "peer", "ours", "ours/peer", "wanted", "reached"}
	toolHeads = []string{"what", "tool", "median", "spread", "repeats", "remark"}
)

// goals returns the cells of the table of goals.
func (r *report) goals() (cells [][]string) {
	for i := range r.Rows {
		x := &r.Rows[i]
		for _, g := range x.Goals {
			v := x.judge(g)
			cells = append(cells, x.goalCells(g, v))
		}
	}
	return cells
}

func (r *row) goalCells(g goal, v verdict) []string {
	cells := []string{r.Name, "-", "-", "-", "-", r.wanted(g), "not measured"}
	if g.Tool != "" {
		cells[0] += " (" + g.Tool + ")"
	}
	if v.Peer != "" {
		cells[1], cells[2] = v.Peer, r.Unit.format(v.Theirs)
	} else if len(g.Peers) > 0 {
		cells[1] = strings.Join(g.Peers, ", ")
	}
	if mine := r.ours(g); mine != nil {
		cells[3] = r.Unit.format(v.Ours)
	}
	if v.Known {
		if v.Peer != "" {
			cells[4] = fmt.Sprintf("%.3g", v.Ratio)
		}
		cells[6] = map[bool]string{true: "yes", false: "no"}[v.Reached]
	}
	return cells
}

// wanted prints the bound of a goal.
func (r *row) wanted(g goal) string {
	number := r.Unit.format
	if len(g.Peers) > 0 {
		number = func(v float64) string { return fmt.Sprintf("%.3gx", v) }
	}
	switch {
	case g.None:
		return "0"
	case g.AtLeast > 0:
		return ">= " + number(g.AtLeast)
	case g.AtMost > 0:
		return "<= " + number(g.AtMost)
	}
	return "-"
}

// tools returns the cells of the table of all tools.
func (r *report) tools() (cells [][]string) {
	for _, x := range r.Rows {
		if len(x.Series) == 0 {
			cells = append(cells, []string{x.Name, "-", "-", "-", "0", x.Note})
		}
		for _, s := range x.Series {
			cells = append(cells, x.toolCells(s))
		}
	}
	return cells
}

func (r *row) toolCells(s series) []string {
	cells := []string{r.Name, s.Tool, "-", "-", fmt.Sprint(len(s.Values)), oneLine(s.Note)}
	if s.Role == ours && s.Note == "" {
		cells[5] = r.Note
	}
	if len(s.Values) > 0 {
		cells[2] = r.Unit.format(median(s.Values))
		cells[3] = r.Unit.format(slices.Min(s.Values)) + " to " + r.Unit.format(slices.Max(s.Values))
	}
	return cells
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// text prints the report for users.
func (r *report) text(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s\n%s\n\n", r.Machine, r.manner()); err != nil {
		return err
	}
	for _, t := range []struct {
		heads []string
		cells [][]string
	}{{goalHeads, r.goals()}, {toolHeads, r.tools()}} {
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, strings.Join(t.heads, "\t"))
		for _, cells := range t.cells {
			fmt.Fprintln(tw, strings.Join(cells, "\t"))
		}
		fmt.Fprintln(tw)
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// manner returns a text that says how the values were measured.
func (r *report) manner() string {
	how := "usual windows"
	if r.Quick {
		how = "quick windows"
	}
	return fmt.Sprintf("medians of %d interleaved repeats, %s; spread is min to max", r.Repeats, how)
}

// markdown writes the same tables for doc/benchmarks.md.
func (r *report) markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s.\n\n", strings.ReplaceAll(r.Machine.String(), "\n", "  \n"), r.manner())
	markdownTable(&b, goalHeads, r.goals())
	b.WriteByte('\n')
	markdownTable(&b, toolHeads, r.tools())
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownTable(b *strings.Builder, heads []string, cells [][]string) {
	b.WriteString("| " + strings.Join(heads, " | ") + " |\n|" + strings.Repeat("---|", len(heads)) + "\n")
	for _, row := range cells {
		for _, cell := range row {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
}

// json writes every value.
func (r *report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// save writes a form of the report to a file, unless that has no name.
func (r *report) save(file string, form func(io.Writer) error) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := form(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
