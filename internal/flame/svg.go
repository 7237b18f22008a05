package flame

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Sizes of the picture in pixels.
const (
	svgWidth  = 1200
	svgMargin = 10
	svgRow    = 17
	svgHead   = 44
	svgLetter = 6.63 // at 11 px, in fonts whose letters have one width
	svgLeast  = 1.0  // narrower boxes are left out, with all above them
)

// SVG writes a flame graph of the value that is shown first. The picture has one colour scheme and no script; a
// viewer that shows titles shows the names of the functions.
func (g *Graph) SVG(w io.Writer) error {
	s := newSVG(g)
	b := bufio.NewWriter(w)
	height := svgHead + (s.deepest()+1)*svgRow + svgMargin
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" `+
		`font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11">`+"\n", svgWidth, height)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" fill="#ffffff"/>`+"\n")
	fmt.Fprintf(b, `<text x="%d" y="18" font-size="13" font-weight="bold" fill="#1f2328">%s</text>`+"\n", svgMargin, escape(cut(g.Title, 140)))
	about := strings.Join(g.About[:min(len(g.About), 2)], "; ")
	fmt.Fprintf(b, `<text x="%d" y="34" fill="#656d76">%s</text>`+"\n", svgMargin, escape(cut(about, 176)))
	for i := range s.boxes {
		s.box(b, &s.boxes[i], height)
	}
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

// svg is a picture that is being made.
type svg struct {
	graph *Graph
	value Value
	whole int64
	sums  []int64
	base  []int64 // of an earlier profile; nil: there is none
	boxes []svgBox
	hues  map[string]int
}

type svgBox struct {
	node     Node
	depth    int
	x, width float64
}

// newSVG lays out the boxes that are wide enough to be seen.
func newSVG(g *Graph) *svg {
	s := &svg{graph: g, value: g.Values[g.Initial], sums: g.sums(g.Initial)}
	s.whole = s.sums[0]
	if g.Compared {
		s.base = g.sums(g.Initial + len(g.Values)/2)
	}
	s.hues = s.homeHues()
	s.boxes = []svgBox{{0, 0, svgMargin, svgWidth - 2*svgMargin}}
	if s.whole == 0 {
		return s
	}
	scale := float64(svgWidth-2*svgMargin) / float64(s.whole)
	next := make([]float64, len(g.nodes)) // where the next callee of a node goes
	hidden := make([]bool, len(g.nodes))
	next[0] = svgMargin
	nodes, depths := g.ordered()
	for i, n := range nodes {
		caller := g.nodes[n].caller
		width := float64(s.sums[n]) * scale
		if hidden[n] = hidden[caller] || width < svgLeast; hidden[n] {
			if !hidden[caller] {
				next[caller] += width
			}
			continue
		}
		next[n] = next[caller]
		next[caller] += width
		s.boxes = append(s.boxes, svgBox{n, depths[i], next[n], width})
	}
	return s
}

func (s *svg) deepest() int {
	return slices.MaxFunc(s.boxes, func(a, b svgBox) int { return cmp.Compare(a.depth, b.depth) }).depth
}

func (s *svg) box(b io.Writer, box *svgBox, height int) {
	f, name := Frame{}, "all"
	fill := "#dcdad6"
	if box.node != 0 {
		f = s.graph.frames[s.graph.nodes[box.node].frame]
		name, fill = f.Name, s.colour(f)
		if s.base != nil {
			fill = shiftColour(change(s.sums[box.node], s.base[box.node]))
		}
	}
	y := height - svgMargin - (box.depth+1)*svgRow
	fmt.Fprintf(b, `<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`,
		escape(cut(name, 400)+" "+s.share(box.node)), box.x, y, max(box.width-0.5, 0.3), svgRow-1, fill)
	if room := int((box.width - 6) / svgLetter); room >= 3 {
		fmt.Fprintf(b, `<text x="%.1f" y="%d">%s</text>`, box.x+3, y+svgRow-5, escape(s.fit(f, name, room)))
	}
	fmt.Fprintln(b, "</g>")
}

// fit cuts a name to a number of letters. In Go the package, which the colour shows, is left out first, then the
// receiver.
func (s *svg) fit(f Frame, name string, room int) string {
	if utf8.RuneCountInString(name) > room {
		name = strings.TrimPrefix(name, s.graph.home(f)+".")
	}
	if receiver, method, ok := strings.Cut(name, ")."); ok && room < 12 && strings.HasPrefix(receiver, "(") && utf8.RuneCountInString(name) > room {
		name = method
	}
	return cut(name, room)
}

func (s *svg) share(n Node) string {
	if s.whole == 0 {
		return ""
	}
	share := fmt.Sprintf("%.2f %%", 100*float64(s.sums[n])/float64(s.whole))
	if s.base != nil && s.base[0] > 0 {
		share += fmt.Sprintf(", was %.2f %%", 100*float64(s.base[n])/float64(s.base[0]))
	}
	if s.value.Unit == Nanoseconds {
		return fmt.Sprintf("(%s, %.3f s)", share, float64(s.sums[n])/1e9)
	}
	return fmt.Sprintf("(%s, %d)", share, s.sums[n])
}

// Hues for the files that hold the code. A file has the hue that its name chooses, in every profile; only where a file with
// more of the profile has it already the next one that is free. The page does the same (paint.js).
// None is the red of the kernel.
var hues = []int{22, 205, 130, 275, 48, 300, 172, 240, 92, 65, 190, 320}

// homeHues gives each home of functions a hue.
func (s *svg) homeHues() map[string]int {
	sums := make(map[string]int64)
	for n := 1; n < len(s.sums); n++ {
		f := s.graph.frames[s.graph.nodes[n].frame]
		if f.Kind == Code {
			sums[s.graph.home(f)] += s.sums[n]
		}
	}
	var order []string
	for home := range sums {
		order = append(order, home)
	}
	slices.SortFunc(order, func(a, b string) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	result := make(map[string]int)
	taken := make(map[int]bool)
	for _, home := range order {
		if len(taken) == len(hues) {
			clear(taken)
		}
		i := int(nameHash(home) % uint32(len(hues)))
		for taken[i] {
			i = (i + 1) % len(hues)
		}
		taken[i] = true
		result[home] = hues[i]
	}
	return result
}

// nameHash is hash of paint.js, for names of ASCII.
func nameHash(name string) (h uint32) {
	for _, c := range []byte(name[:min(len(name), 64)]) {
		h = h*31 + uint32(c)
	}
	return h
}

func (s *svg) colour(f Frame) string {
	switch f.Kind {
	case Call:
		return "#b9c7d6"
	case Kernel:
		return "#e8a0a0"
	case Unknown:
		return "#d4cfc7"
	case Group:
		return "#dcdad6"
	}
	h := fnv.New32a()
	io.WriteString(h, f.Name)
	shade := int(h.Sum32()%9) - 4
	return fmt.Sprintf("hsl(%d,62%%,%d%%)", s.hues[s.graph.home(f)]+shade, 77+shade)
}

// shiftColour is red for what has grown and blue for what has shrunk. The page does the same (paint.js).
func shiftColour(change float64) string {
	hue := 4
	if change < 0 {
		hue = 214
	}
	part := math.Abs(change)
	return fmt.Sprintf("hsl(%d,%.0f%%,%.0f%%)", hue, 80*part, 90-22*part)
}

// home returns where a function belongs: the file that holds its code, in Go programs the package.
func (g *Graph) home(f Frame) string {
	if !g.isGo(f.Object) {
		return path.Base(f.Object)
	}
	head, _, _ := strings.Cut(f.Name, "(")
	head, _, _ = strings.Cut(head, "[")
	from := strings.LastIndexByte(head, '/') + 1
	if i := strings.IndexByte(f.Name[from:], '.'); i > 0 {
		return f.Name[:from+i]
	}
	return path.Base(f.Object)
}

// isGo reports whether a file has functions of Go's runtime.
func (g *Graph) isGo(object string) bool {
	if g.goFiles == nil {
		g.goFiles = make(map[string]bool)
		for _, f := range g.frames {
			if strings.HasPrefix(f.Name, "runtime.") {
				g.goFiles[f.Object] = true
			}
		}
	}
	return g.goFiles[object]
}

// cut shortens a text to a number of characters.
func cut(text string, room int) string {
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	return string([]rune(text)[:room-1]) + "…"
}

func escape(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // never fails
	return b.String()
}
