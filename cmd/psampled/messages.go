package main

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"ptools/internal/clean"
)

// messages writes lines to standard error. No other goroutine waits for its reader: if the reader stops reading,
// lines for which there is no room are dropped.
type messages struct {
	lines   chan string
	written chan struct{} // closed when the last has been
	dropped atomic.Int64
}

const (
	mostMessages = 1024
	lastMessages = time.Second // how long the end waits until they are written
)

// writeMessages begins to write. Close ends it.
func writeMessages(w io.Writer) *messages {
	m := &messages{lines: make(chan string, mostMessages), written: make(chan struct{})}
	go func() { // ends with close, or with the process if the reader has stopped reading
		defer close(m.written)
		for line := range m.lines {
			if n := m.dropped.Swap(0); n > 0 {
				line = fmt.Sprintf("psampled: %d messages were dropped, since nobody read them\n", n) + line
			}
			io.WriteString(w, line) // a full device, or a reader that has gone away, is no reason to end
		}
	}()
	return m
}

// add writes a line.
func (m *messages) add(format string, args ...any) {
	select {
	case m.lines <- oneLine(fmt.Sprintf(format, args...)):
	default:
		m.dropped.Add(1)
	}
}

// oneLine makes a text one line that is fit for a terminal: paths and answers of servers may have any characters.
func oneLine(text string) string {
	return "psampled: " + clean.Text(strings.ReplaceAll(text, "\n", "; ")) + "\n"
}

// close waits until all is written, but no longer than lastMessages. No line may be added after it.
func (m *messages) close() {
	close(m.lines)
	select {
	case <-m.written:
	case <-time.After(lastMessages):
	}
}
