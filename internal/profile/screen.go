package profile

import (
	"io"
	"unicode/utf8"
)

// Screen is the part of a terminal that the text output may fill. The zero value is a file: it has room for everything.
type Screen struct {
	Width, Height int // columns and lines
}

// below returns how many lines are left below some; 0: any number.
func (s Screen) below(lines int) int {
	if s.Height <= 0 {
		return 0
	}
	return max(s.Height-lines, 4)
}

// lineCounter passes on what is written, and counts the lines that it fills on a terminal.
type lineCounter struct {
	w      io.Writer
	width  int
	lines  int
	column int
}

// Write implements io.Writer.
func (c *lineCounter) Write(p []byte) (int, error) {
	for _, b := range p {
		switch {
		case b == '\n':
			c.lines, c.column = c.lines+1, 0
		case utf8.RuneStart(b):
			if c.column++; c.width > 0 && c.column > c.width {
				c.lines, c.column = c.lines+1, 1
			}
		}
	}
	return c.w.Write(p)
}
