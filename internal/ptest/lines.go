package ptest

import (
	"bufio"
	"os"
	"strings"
	"time"
)

// lines reads the standard output of a target as it comes, so that a target never has to wait for
// its test. The reading goroutine ends with the pipe. close closes the pipe, and waits for the
// goroutine.
type lines struct {
	r    *os.File
	line chan string // closed at the end of the output
	done chan struct{}
}

// maxLines is how many lines a target may be ahead of its test before it blocks.
const maxLines = 1 << 16

func readLines(r *os.File) *lines {
	l := &lines{r: r, line: make(chan string, maxLines), done: make(chan struct{})}
	go l.read()
	return l
}

func (l *lines) read() {
	defer close(l.done)
	defer close(l.line)
	b := bufio.NewReader(l.r)
	for {
		s, err := b.ReadString('\n')
		if s != "" {
			l.line <- strings.TrimSuffix(s, "\n")
		}
		if err != nil {
			return
		}
	}
}

func (l *lines) close() {
	l.r.Close()
	for range l.line { // lets a blocked reader continue
	}
	<-l.done
}

// Line returns the next line of the target's standard output.
func (g *Target) Line() string {
	g.t.Helper()
	s, ok := g.nextLine()
	if !ok {
		g.t.Fatalf("ptest: target %d (state %c) printed no further line", g.PID, g.State())
	}
	return s
}

// Until reads lines up to one that contains text, and returns that line.
func (g *Target) Until(text string) string {
	g.t.Helper()
	for {
		if line := g.Line(); strings.Contains(line, text) {
			return line
		}
	}
}

// Ready waits for the line "ready".
func (g *Target) Ready() {
	g.t.Helper()
	if s := g.Line(); s != "ready" {
		g.t.Fatalf("ptest: target %d printed %q instead of ready", g.PID, s)
	}
}

// Output returns what has not been read of the target's standard output, up to its end.
func (g *Target) Output() string {
	g.t.Helper()
	var b strings.Builder
	for {
		s, ok := g.nextLine()
		if !ok {
			return b.String()
		}
		b.WriteString(s + "\n")
	}
}

func (g *Target) nextLine() (string, bool) {
	g.t.Helper()
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case s, ok := <-g.out.line:
		return s, ok
	case <-patience.C:
		g.t.Fatalf("ptest: target %d (state %c, %d threads, traced by %d) prints nothing; its output is held open by%s",
			g.PID, g.State(), len(g.Threads()), g.TracerPID(), holders(g.pipe()))
		return "", false
	}
}
