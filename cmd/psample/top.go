package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"ptools/internal/job"
	"ptools/internal/live"
	"ptools/internal/profile"
	"ptools/internal/sample"
)

// top shows the profile while it is taken: on a terminal a screen that keys change, elsewhere a table a second. A nil
// top shows nothing.
type top struct {
	out     io.Writer
	view    live.View
	seconds chan second
	quit    context.CancelCauseFunc
	done    chan struct{} // the goroutine that shows has ended
	closing chan struct{}
	screen  *screen // nil: no terminal

	window *profile.Window
	last   time.Duration
}

// second is what was sampled in about one second.
type second struct {
	interval *profile.Interval
	length   time.Duration
}

// topRows is how many lines a table has without a screen.
const topRows = 20

// startTop starts the view if --top asks for it, and returns nil otherwise. quit ends the sampling.
func startTop(cfg *config, title string, out io.Writer, quit context.CancelCauseFunc) (*top, error) {
	if !cfg.top {
		return nil, nil
	}
	t := &top{out: out, quit: quit, seconds: make(chan second, 1), done: make(chan struct{}), closing: make(chan struct{})}
	t.view.Title = title
	if cfg.follow {
		t.view.Last = live.Processes
	}
	t.view.Order = map[profile.Value]live.Order{profile.CPU: live.ByCPU, profile.Wall: live.ByWall, profile.Samples: live.BySamples, profile.Ready: live.ByReady}[cfg.value]
	if cfg.threads {
		t.view.Subject = live.Threads
	}
	if job.IsTerminal(out) {
		var err error
		if t.screen, err = openScreen(out); err != nil {
			return nil, err
		}
	}
	go t.run() // ended by close, which waits for it
	return t, nil
}

// progress is called by the sampler after every round. Once a second it passes on what was added to the profile.
func (t *top) progress(s *sample.Sampler, p *sample.Progress, o *profile.Options) {
	switch {
	case t == nil:
	case t.window == nil:
		t.window, t.last = s.Profile().Window(), p.Elapsed
	case p.Elapsed-t.last >= time.Second:
		s.CatchUp()
		select {
		case t.seconds <- second{t.window.Next(o), p.Elapsed - t.last}:
			t.last = p.Elapsed
		default: // the terminal accepts no output; the next second will include this one
		}
	}
}

// run shows each second, until the view is closed.
func (t *top) run() {
	defer close(t.done)
	var keys <-chan string
	sizes := make(chan os.Signal, 1)
	if t.screen != nil {
		keys = t.screen.keys
		signal.Notify(sizes, syscall.SIGWINCH)
		defer signal.Stop(sizes)
		t.draw()
	}
	for {
		select {
		case <-t.closing:
			return
		case s := <-t.seconds:
			t.view.Show(s.interval, s.length)
			if t.screen == nil {
				t.table()
				continue
			}
		case sent := <-keys:
			if t.view.Keys(sent, t.screen.height()-4) {
				t.quit(nil)
				return
			}
		case <-sizes:
		}
		t.draw()
	}
}

func (t *top) draw() {
	if err := t.screen.draw(&t.view); err != nil {
		t.quit(outputError(err))
	}
}

// table prints a table if there is no screen.
func (t *top) table() {
	if _, err := fmt.Fprintf(t.out, "%s\n\n", strings.Join(t.view.Table(topRows), "\n")); err != nil {
		t.quit(outputError(err))
	}
}

// close restores the terminal. It may be called more than once.
func (t *top) close() {
	if t == nil || t.closing == nil {
		return
	}
	close(t.closing)
	<-t.done
	t.closing = nil
	if t.screen != nil {
		t.screen.close()
	}
}

// screen is a terminal in full-screen use.
type screen struct {
	out   *os.File
	tty   *os.File
	state *term.State
	keys  chan string
	ended chan struct{} // of the goroutine that reads keys
	stop  chan struct{}
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // alternate screen, no cursor, long lines end at the edge
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// openScreen takes over the terminal out.
func openScreen(out io.Writer) (*screen, error) {
	// A descriptor of our own can be set non-blocking, so that a read can be ended.
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("--top: %w", err)
	}
	s := &screen{out: out.(*os.File), tty: tty, keys: make(chan string), ended: make(chan struct{}), stop: make(chan struct{})}
	if err := s.control(func(fd int) (err error) { s.state, err = term.MakeRaw(fd); return err }); err != nil {
		tty.Close()
		return nil, fmt.Errorf("--top: %w", err)
	}
	io.WriteString(s.out, enterScreen)
	go s.read() // ended by close, which waits for it
	return s, nil
}

// control calls f with the terminal's descriptor, which stays non-blocking.
func (s *screen) control(f func(fd int) error) error {
	raw, err := s.tty.SyscallConn()
	if err != nil {
		return err
	}
	if e := raw.Control(func(fd uintptr) { err = f(int(fd)) }); e != nil {
		return e
	}
	return err
}

func (s *screen) read() {
	defer close(s.ended)
	buf := make([]byte, 256)
	for {
		n, err := s.tty.Read(buf)
		if err != nil {
			return
		}
		select {
		case s.keys <- string(buf[:n]):
		case <-s.stop:
			return
		}
	}
}

// size returns the size of the terminal, or 80x24 if it does not say.
func (s *screen) size() (width, height int) {
	err := s.control(func(fd int) (err error) { width, height, err = term.GetSize(fd); return err })
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

func (s *screen) height() int {
	_, height := s.size()
	return height
}

func (s *screen) draw(v *live.View) error {
	width, height := s.size()
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range v.Lines(width, height) {
		if i > 0 {
			b.WriteString("\r\n")
		}
		// The line is filled with blanks. An escape sequence that clears to its end would erase its last character.
		line += strings.Repeat(" ", max(width-utf8.RuneCountInString(line), 0))
		switch i {
		case 0:
			line = "\x1b[1m" + line + "\x1b[m"
		case 2, height - 1:
			line = "\x1b[7m" + line + "\x1b[m"
		}
		b.WriteString(line)
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

func (s *screen) close() {
	close(s.stop)
	io.WriteString(s.out, leaveScreen)
	s.control(func(fd int) error { return term.Restore(fd, s.state) })
	s.tty.Close()
	<-s.ended
}
