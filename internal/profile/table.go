package profile

import (
	"bufio"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptools/internal/fit"
	"ptools/internal/intern"
)

// writeThreads writes a table for each thread, the one that counts most of the chosen value first. room is how many lines
// there are for them, 0 for any number.
func writeThreads(p *Profile, b *bufio.Writer, columns []column, o *Options, room int) {
	perThread, sums := make(map[thread]*histogram), make(map[thread]*Values)
	p.eachCounted(o, func(t thread, stack []label, v Values) {
		intern.Value(perThread, t, newHistogram).add(stack, v)
		intern.Value(sums, t, func() *Values { return new(Values) }).add(v)
	})
	threads := slices.SortedFunc(maps.Keys(perThread), func(x, y thread) int {
		a, b := sums[x], sums[y]
		return cmp.Or(cmp.Compare(b.of(o.Value), a.of(o.Value)), cmp.Compare(b.Wall, a.Wall), compareThreads(x, y))
	})
	shown, each := len(threads), 0
	if room > 0 {
		// The lines of a thread are its name, the columns, its functions, those left out, and an empty one.
		shown = max(min(len(threads), room/7), 1)
		each = room / shown
	}
	for i, t := range threads[:shown] {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%s: %s\n", t, shares(columns, *sums[t]))
		perThread[t].write(b, columns, o, max(each-2, 0))
	}
	if rest := threads[shown:]; len(rest) > 0 {
		var sum Values
		for _, t := range rest {
			sum.add(*sums[t])
		}
		fmt.Fprintf(b, "\n… %s (%s)\n", plural(len(rest), "more thread", "more threads"), shares(columns, sum))
	}
}

// shares returns the shares of some values in words.
func shares(columns []column, v Values) string {
	var all []string
	for _, c := range columns {
		all = append(all, fmt.Sprintf("%.2f %% of %s", percent(c.of(v), c.whole), c.name))
	}
	return strings.Join(all, ", ")
}

func plural(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// write writes the table, in at most room lines unless that is 0.
func (h *histogram) write(b *bufio.Writer, columns []column, o *Options, room int) {
	width := 0
	for _, c := range columns {
		n, err := 0, error(nil)
		if o.OnStack {
			n, err = fmt.Fprintf(b, "%*s  %*s  ", c.width(o), c.name+" self", c.width(o), c.name+" total")
		} else {
			n, err = fmt.Fprintf(b, "%*s  ", c.width(o), c.name)
		}
		if width += n; err != nil {
			return // Flush returns it
		}
	}
	fmt.Fprintln(b, "function")
	homes, seen := make(map[string]int), make(map[label]bool) // number of functions with a name
	for l := range h.tallies {
		if l.call = ""; !seen[l] {
			seen[l] = true
			homes[l.name]++
		}
	}
	labels := h.weighty(h.sorted(o), columns, o)
	rest := labels[len(labels):]
	if room > 0 && len(labels) > room-1 {
		kept := max(room-2, 1) // without the columns and the line about the rest
		labels, rest = labels[:kept], labels[kept:]
	}
	for _, l := range labels {
		t := h.tallies[l]
		for _, c := range columns {
			if o.OnStack {
				w := c.width(o) - 1
				fmt.Fprintf(b, "%*.2f%%  %*.2f%%  ", w, percent(c.of(t.self), c.whole), w, percent(c.of(t.total), c.whole))
			} else {
				fmt.Fprintf(b, "%*.2f%%  ", c.width(o)-1, percent(c.of(t.self), c.whole))
			}
		}
		name := l.String()
		if homes[l.name] > 1 {
			name = l.qualified()
		}
		if o.Screen.Width > 0 {
			name = fit.Cut(name, max(o.Screen.Width-width, leastName))
		}
		fmt.Fprintf(b, "%s\n", name)
	}
	h.writeRest(b, columns, rest, o)
}

// weighty returns the functions that have something in a column. If none has, all are shown.
func (h *histogram) weighty(labels []label, columns []column, o *Options) []label {
	kept := slices.DeleteFunc(slices.Clone(labels), func(l label) bool {
		t := h.tallies[l]
		return !slices.ContainsFunc(columns, func(c column) bool { return c.of(t.self) != 0 || o.OnStack && c.of(t.total) != 0 })
	})
	if len(kept) == 0 {
		return labels
	}
	return kept
}

// width is that of a column of the table.
func (c *column) width(o *Options) int {
	switch {
	case o.OnStack && c.value == Goroutines:
		return len(c.name + " total")
	case o.OnStack || c.value == Goroutines:
		return 10
	}
	return 7
}

// leastName is the width that a name has at least, on however narrow a terminal.
const leastName = 8

// writeRest says how much the lines count that there was no room for.
func (h *histogram) writeRest(b *bufio.Writer, columns []column, rest []label, o *Options) {
	if len(rest) == 0 {
		return
	}
	var sum Values
	for _, l := range rest {
		sum.add(h.tallies[l].self)
	}
	by := columns[0]
	for _, c := range columns {
		if c.value == o.Value {
			by = c
		}
	}
	fmt.Fprintf(b, "… %d more (%.1f %% of %s); in a pipe or a file all are there\n", len(rest), percent(by.of(sum), by.whole), by.name)
}
