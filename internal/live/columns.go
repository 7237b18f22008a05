package live

import (
	"fmt"
	"slices"
	"strings"

	"ptools/internal/fit"
)

// column is one of the shares of a line.
type column struct {
	name  string
	order Order // that sorts by it, if sorts
	sorts bool
	of    func(*row) int64
}

var allColumns = []column{
	{"cpu self", ByCPU, true, func(r *row) int64 { return r.self.CPU }},
	{"total", ByCPU, false, func(r *row) int64 { return r.total.CPU }},
	{"ready", ByReady, true, func(r *row) int64 { return r.self.Ready }},
	{"wall self", ByWall, true, func(r *row) int64 { return r.self.Wall }},
	{"total", ByWall, false, func(r *row) int64 { return r.total.Wall }},
}

const (
	columnWidth = 10
	leastName   = 28 // columns are left out until names have as many characters
)

// chosen returns the columns for a width. On a narrow terminal those by which lines are not sorted are left out, the last
// one first.
func (v *View) chosen(width int) []column {
	columns := slices.Clone(allColumns)
	if v.Subject != Functions { // self and total are the same
		columns = slices.DeleteFunc(columns, func(c column) bool { return !c.sorts })
	}
	order := v.Order
	if v.idle() && order == ByCPU {
		order = ByWall
	}
	for i := len(columns) - 1; i >= 0 && len(columns) > 1 && width < len(columns)*columnWidth+leastName; i-- {
		if !columns[i].sorts || columns[i].order != order {
			columns = slices.Delete(columns, i, i+1)
		}
	}
	return columns
}

// columns returns the line with the names of the columns, for a screen.
func (v *View) columns(width int) string {
	var b strings.Builder
	for _, c := range v.chosen(width) {
		fmt.Fprintf(&b, "%9s ", mark(c.name, c.sorts && c.order == v.Order))
	}
	return b.String() + " " + v.nameColumn()
}

// fit returns a line for a screen. The name is cut to the width.
func (v *View) fit(r *row, width int) string {
	var b strings.Builder
	for _, c := range v.chosen(width) {
		fmt.Fprintf(&b, "%7.1f %% ", v.share(c.of(r)))
	}
	b.WriteByte(' ')
	return b.String() + fit.Cut(r.name, width-b.Len())
}

// Columns returns the line with the names of the columns of a Table.
func (v *View) Columns() string {
	return fmt.Sprintf("%9s %9s %9s %9s  %s", mark("cpu self", v.Order == ByCPU), "total", mark("wall self", v.Order == ByWall), "total", v.nameColumn())
}

func (v *View) nameColumn() string {
	name := "function"
	switch v.Subject {
	case Threads:
		name = "    tid  name             function"
	case Processes:
		name = "    pid  name             function"
	}
	return mark(name, v.Order == ByName)
}

func mark(name string, chosen bool) string {
	if chosen {
		return name + "*"
	}
	return name
}

// line returns a line of a Table.
func (v *View) line(r *row) string {
	return fmt.Sprintf("%7.1f %% %7.1f %% %7.1f %% %7.1f %%  %s",
		v.share(r.self.CPU), v.share(r.total.CPU), v.share(r.self.Wall), v.share(r.total.Wall), r.name)
}

// Table returns the first lines without a screen: header, columns and rows.
func (v *View) Table(rows int) []string {
	lines := append(v.Head(), v.Columns())
	for i := range min(rows, len(v.rows)) {
		lines = append(lines, v.line(&v.rows[i]))
	}
	return lines
}

// clip cuts a line to a width.
func clip(line string, width int) string { return fit.Clip(line, width) }
