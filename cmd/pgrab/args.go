package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ptools/internal/clean"
	"ptools/pctl"
)

// values says whether the arguments of functions are shown at hits.
type values uint8

const (
	noValues values = iota
	arguments
)

func (v values) String() string { return [...]string{"none", "arguments"}[v] }

// setArgs sets that arguments are shown. They are where a function begins.
func (o *options) setArgs(args bool) error {
	if !args {
		return nil
	}
	o.values = arguments
	if len(o.breaks) == 0 {
		return errors.New("--args are those of functions at hits: it needs -b")
	}
	if !o.showsEvents() && o.stacks == noStacks {
		return errors.New("--args are shown with each hit, and with -q no hit is shown (pcalls --by ARGUMENT counts by arguments)")
	}
	for _, w := range o.breaks {
		if w.Offset != 0 || w.File != "" {
			return fmt.Errorf("--args: at %s no function begins, and arguments are known where one does", w)
		}
	}
	return nil
}

// lacksArgs removes a breakpoint by address if arguments are wanted and no function begins there.
func (t *target) lacksArgs(ctx context.Context, b *pctl.Breakpoint) error {
	w := b.Where()
	if t.values == noValues || w.Symbol != "" {
		return nil
	}
	if frames := t.p.Lookup(w.Addr); frames[len(frames)-1].Func != "" && frames[len(frames)-1].Offset == 0 {
		return nil
	}
	return cmp.Or(b.Remove(ctx), fmt.Errorf("--args: %w", pctl.ErrNotEntry))
}

// line returns the line of an event. With arguments that of a hit is a call, as pcalls prints it.
func line(r *record) string {
	text := r.Event.String()
	if r.Kind != pctl.KindHit || r.args == nil || r.Symbol == "" {
		return text
	}
	name := clean.Text(r.Symbol)
	return strings.Replace(text, " hit "+name+"+0", " hit "+name+"("+clean.Text(*r.args)+")", 1)
}
