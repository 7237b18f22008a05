package main

import (
	"io"
	"sync"
)

// prompt waits for lines on the standard input. One line continues all processes
// that are held at that moment; the end of the input continues them from
// then on.
type prompt struct {
	in io.Reader

	mu    sync.Mutex
	round chan struct{} // closed by the next line; nil while no goroutine reads
	ended bool
}

// line returns a channel that is closed when a line or the end has been read.
func (p *prompt) line() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.round == nil {
		p.round = make(chan struct{})
		if p.ended {
			close(p.round)
		} else {
			// Ends with the line. A read of a terminal cannot be called
			// back: if it is waited for no more, it ends with us.
			go p.read(p.round)
		}
	}
	return p.round
}

// read takes one byte at a time: what follows the line is not ours but the
// command's, which has the same standard input.
func (p *prompt) read(round chan struct{}) {
	var b [1]byte
	var err error
	for b[0] != '\n' && err == nil {
		_, err = p.in.Read(b[:])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.ended = true // and round stays, closed
	} else {
		p.round = nil
	}
	close(round)
}
