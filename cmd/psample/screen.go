package main

import (
	"io"
	"os"

	"golang.org/x/term"

	"ptools/internal/fit"
	"ptools/internal/job"
	"ptools/internal/profile"
)

// closingLines is how many lines the closing line on stderr and the shell's prompt fill.
const closingLines = 4

// screenFor returns the room for the text on a terminal: what is left beside the closing line, the hints and the prompt.
// Elsewhere there is room for everything.
func screenFor(out io.Writer, hints []string) profile.Screen {
	f, ok := out.(*os.File)
	if !ok || !job.IsTerminal(out) {
		return profile.Screen{}
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return profile.Screen{}
	}
	height -= closingLines
	for _, h := range hints {
		height -= 1 + (fit.Width(h)+len("psample: hint: ")-1)/width
	}
	return profile.Screen{Width: width, Height: max(height, 1)}
}

// write writes the profile to its destination.
func (s *session) write(p *profile.Profile, hints []string) error {
	if (s.cfg.top || s.server != nil) && s.cfg.output == "" {
		return nil
	}
	return s.cfg.put(s.stdout, p, s.written, hints)
}
