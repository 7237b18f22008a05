package profile

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// writeFolded writes one line per distinct stack: the functions, outermost
// first, with ; between them, a space and the count. With Threads the
// outermost level is the thread.
func writeFolded(p *Profile, w io.Writer, o *Options) error {
	lines := folded(p, o)
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(out, "%s %d\n", line, lines[line])
	}
	return out.Flush()
}

// folded returns what each stack counts.
func folded(p *Profile, o *Options) map[string]int64 {
	lines := make(map[string]int64)
	var b strings.Builder
	p.eachStack(o, func(t thread, stack []label, n int64) {
		b.Reset()
		if o.Threads {
			b.WriteString(foldedName(t.String()))
		}
		for _, l := range slices.Backward(stack) {
			if b.Len() > 0 {
				b.WriteByte(';')
			}
			b.WriteString(foldedName(l.String()))
		}
		if b.Len() == 0 {
			b.WriteString(unknown)
		}
		lines[b.String()] += n
	})
	return lines
}

// foldedName removes the separator of levels from a name. [Clean] has removed
// that of lines.
func foldedName(name string) string { return strings.ReplaceAll(name, ";", ":") }
