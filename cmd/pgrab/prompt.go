package main

import (
	"io"
	"sync"
)

// prompt waits for lines on the standard input. A line continues all processes
// that are held at that moment. After the end of the input, every held process
// is continued at once.
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
			// The goroutine ends with the line. A read of a terminal cannot
			// be cancelled: if its line is no longer needed, it ends with the
			// program.
			go p.read(p.round)
		}
	}
	return p.round
}

// read takes one byte at a time: the input after the line belongs to the
// command, which has the same standard input.
func (p *prompt) read(round chan struct{}) {
	var b [1]byte
	var err error
	for b[0] != '\n' && err == nil {
		_, err = p.in.Read(b[:])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.ended = true // round stays closed
	} else {
		p.round = nil
	}
	close(round)
}
