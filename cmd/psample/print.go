package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"ptools/internal/profile"
	"ptools/internal/sample"
)

// printer prints samples as they are taken. A nil printer prints none.
type printer struct {
	cfg    *config
	out    *bufio.Writer
	cancel context.CancelCauseFunc
	names  []string
}

// newPrinter returns a printer, nil if the flags ask for none. cancel is
// called with the first error of writing.
func newPrinter(cfg *config, w io.Writer, cancel context.CancelCauseFunc) *printer {
	if !cfg.functions && !cfg.registers && cfg.stacks < 2 {
		return nil
	}
	return &printer{cfg: cfg, out: bufio.NewWriter(w), cancel: cancel}
}

// sample prints one sample: a line with the thread, its function and its
// registers, as far as asked for, and then its stack, innermost function first.
func (p *printer) sample(s *sample.Sample) {
	p.names = s.Space.Names(s.Stack, &profile.Options{Lines: p.cfg.lines}, p.names[:0])
	fmt.Fprintf(p.out, "%s (tid %d):", s.Name, s.TID)
	if p.cfg.functions && len(p.names) > 0 {
		fmt.Fprintf(p.out, " %s", p.names[0])
	}
	if p.cfg.registers {
		p.registers(s)
	}
	p.out.WriteByte('\n')
	if p.cfg.stacks > 1 {
		for _, name := range p.names {
			fmt.Fprintf(p.out, "\t%s\n", name)
		}
	}
}

// registers prints all registers of a thread, or the two that are known if the
// thread was not stopped.
func (p *printer) registers(s *sample.Sample) {
	if s.Partial {
		fmt.Fprintf(p.out, " pc=%#x sp=%#x", s.PC, s.SP)
		return
	}
	regs := reflect.ValueOf(&s.Regs.Regs).Elem()
	for i := range regs.NumField() {
		fmt.Fprintf(p.out, " %s=%#x", strings.ToLower(regs.Type().Field(i).Name), regs.Field(i).Uint())
	}
}

// errOutput says that standard output cannot be written to, and that no more should be.
var errOutput = errors.New("write standard output")

// outputError returns err, of a write to standard output, without the path in
// it.
func outputError(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%w: %w", errOutput, err)
}

// flush is called after every round.
func (p *printer) flush() {
	if p == nil {
		return
	}
	if err := p.out.Flush(); err != nil {
		p.cancel(outputError(err))
	}
}
