package profile

import (
	"fmt"
	"io"
	"path"
	"strings"
)

// Format is a form of output.
type Format uint8

const (
	Text       Format = iota // histogram of functions
	Folded                   // a line per stack, for flame graph scripts
	Pprof                    // gzipped profile.proto
	Speedscope               // speedscope's own format, a profile per thread
	Firefox                  // the processed profile format of the Firefox Profiler
	JSON                     // see [Document]
	Creations                // text of a ThreadCreate profile, in the form of Go's own
	Perf                     // what perf script prints
	HTML                     // a page with flame graphs
	SVG                      // a flame graph for documents
)

var formats = [...]struct {
	name, ending string
	write        func(*Profile, io.Writer, *Options) error
	calls        bool // it has a form for Calls
}{
	Text:       {"text", ".txt", writeText, false},
	Folded:     {"folded", ".folded", writeFolded, true},
	Pprof:      {"pprof", ".pb.gz", writePprof, true},
	Speedscope: {"speedscope", ".speedscope.json", writeSpeedscope, true},
	Firefox:    {"firefox", ".firefox.json", writeFirefox, false},
	JSON:       {"json", ".json", writeJSON, false},
	Creations:  {"threadcreate", ".threadcreate", writeThreadCreate, false},
	Perf:       {"perf", ".perf", writePerf, false},
	HTML:       {"html", ".html", writeHTML, true},
	SVG:        {"svg", ".svg", writeSVG, true},
}

// String returns the name that [ParseFormat] takes.
func (f Format) String() string { return formats[f].name }

// ParseFormat is the inverse of String; ok is false for an unknown name.
func ParseFormat(name string) (f Format, ok bool) {
	for f := range formats {
		if formats[f].name == name {
			return Format(f), true
		}
	}
	return 0, false
}

// By returns how a format distinguishes the processes of a tree by default. A flame graph of a thousand single
// processes would show none of them.
func (f Format) By() By {
	if f == HTML || f == SVG {
		return ByCommand
	}
	return ByProcess
}

// Timeline reports whether the output shows when threads were in which stack.
func (f Format) Timeline() bool { return f == HTML || f == Firefox || f == Perf || f == Speedscope }

// FormatNames returns the names of all formats, and FormatEndings the file endings that select one, both for
// messages.
func FormatNames() string { return alternatives(func(f Format) string { return formats[f].name }) }

// FormatEndings: see [FormatNames].
func FormatEndings() string { return alternatives(func(f Format) string { return formats[f].ending }) }

// HasCalls reports whether the format has a form for a profile of calls.
func (f Format) HasCalls() bool { return formats[f].calls }

// CallFormatNames and CallFormatEndings are FormatNames and FormatEndings of the formats that have calls.
func CallFormatNames() string {
	return alternatives(func(f Format) string {
		if !f.HasCalls() {
			return ""
		}
		return formats[f].name
	})
}

// CallFormatEndings: see [CallFormatNames].
func CallFormatEndings() string {
	return alternatives(func(f Format) string {
		if !f.HasCalls() {
			return ""
		}
		return formats[f].ending
	})
}

// alternatives joins the names that are not empty.
func alternatives(of func(Format) string) string {
	var names []string
	for f := range formats {
		if name := of(Format(f)); name != "" {
			names = append(names, name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// FormatOf returns the format that the ending of a file name selects, Text if
// there is no ending; ok is false for an unknown one.
func FormatOf(file string) (f Format, ok bool) {
	base := path.Base(file)
	for f := range formats {
		if strings.HasSuffix(base, formats[f].ending) {
			return Format(f), true
		}
	}
	return Text, file == "" || path.Ext(base) == ""
}

// Write writes the profile to w. A nil Options is the zero one. It is an error if the format has no form for the profile's subject.
func (p *Profile) Write(w io.Writer, f Format, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	if p.Subject == Calls && !f.HasCalls() {
		return fmt.Errorf("%v has no form for calls: %s", f, CallFormatNames())
	}
	return formats[f].write(p, w, o)
}
