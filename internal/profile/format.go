package profile

import (
	"io"
	"path"
	"strings"
)

// Format is a form of output.
type Format uint8

const (
	Text       Format = iota // histogram of functions
	Folded                   // a line per stack, as flame graph scripts read it
	Pprof                    // gzipped profile.proto
	Speedscope               // speedscope's own format, a profile per thread
	JSON                     // see [Document]
	Creations                // text of a ThreadCreate profile, as Go's own
)

var formats = [...]struct {
	name, ending string
	write        func(*Profile, io.Writer, *Options) error
}{
	Text:       {"text", ".txt", (*Profile).writeText},
	Folded:     {"folded", ".folded", (*Profile).writeFolded},
	Pprof:      {"pprof", ".pb.gz", (*Profile).writePprof},
	Speedscope: {"speedscope", ".speedscope.json", (*Profile).writeSpeedscope},
	JSON:       {"json", ".json", (*Profile).writeJSON},
	Creations:  {"threadcreate", ".threadcreate", (*Profile).writeThreadCreate},
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

// FormatOf returns the format that the ending of a file name asks for, Text
// if there is none; ok is false for an unknown one.
func FormatOf(file string) (f Format, ok bool) {
	base := path.Base(file)
	for f := range formats {
		if strings.HasSuffix(base, formats[f].ending) {
			return Format(f), true
		}
	}
	return Text, file == "" || path.Ext(base) == ""
}

// Write writes the profile to w. A nil Options is the zero one.
func (p *Profile) Write(w io.Writer, f Format, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	return formats[f].write(p, w, o)
}
