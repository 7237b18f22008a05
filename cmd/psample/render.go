package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"github.com/spf13/pflag"

	"ptools/internal/profile"
	"ptools/internal/usage"
)

// saved is what is to be done with a profile before it is written, and the files of other profiles.
type saved struct {
	only profile.Only
	base string // file of an earlier profile that is compared; empty: none
	from string // file of the profile that is shown; empty: one is taken
}

// ofRender are the flags that render has.
var ofRender = []string{"output", "format", "stacks", "lines", "value", "threads", "by", "include", "exclude", "diff", "quiet"}

// file checks the command line of render.
func (r *rawFlags) file(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		if err == nil && !slices.Contains(ofRender, f.Name) {
			err = usage.Errorf("render shows a profile that was taken: --%s means nothing", f.Name)
		}
	})
	switch {
	case err != nil:
		return err
	case fs.NArg() == 0:
		return usage.Errorf("render which profile? give its FILE, as psample -o FILE has written it (.json or .pb.gz)")
	case fs.NArg() > 1:
		return usage.Errorf("render shows one profile: %d files are given; two are compared by render --diff BASE FILE", fs.NArg())
	case r.stacks > 1:
		return usage.Errorf("a saved profile has no single samples: -ss means nothing")
	}
	r.from = fs.Arg(0)
	return nil
}

// selection checks the flags that choose stacks, and --diff.
func (r *rawFlags) selection(fs *pflag.FlagSet) error {
	chosen := fs.Changed("include") || fs.Changed("exclude") || fs.Changed("diff")
	switch {
	case !chosen:
		return nil
	case r.blame:
		return usage.Errorf("--blame shows waits for locks: --include, --exclude and --diff are for time and --threadcreate")
	case r.http != "" || r.top && r.output == "":
		return usage.Errorf("--include, --exclude and --diff are for what is written at the end: without --http; beside --top give -o FILE")
	case fs.Changed("diff") && r.base == "":
		return usage.Errorf("--diff wants the file of an earlier profile")
	case r.base != "" && r.stacks > 1:
		return usage.Errorf("--diff compares profiles, and -ss prints samples: give one of them")
	}
	if r.base != "" {
		if _, compared := profile.Compared(r.config.format); !compared {
			return usage.Errorf("%v %w", r.config.format, profile.ErrNoDiff)
		}
	}
	var errs [2]error
	r.only.Include, errs[0] = pattern(fs, "include", r.include)
	r.only.Exclude, errs[1] = pattern(fs, "exclude", r.exclude)
	return cmp.Or(errs[0], errs[1])
}

// pattern returns the regular expression of a flag, nil if it was not given.
func pattern(fs *pflag.FlagSet, flag, text string) (*regexp.Regexp, error) {
	if !fs.Changed(flag) {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil || text == "" {
		return nil, usage.Errorf("--%s wants a regular expression, not %q", flag, text)
	}
	return re, nil
}

// load reads a saved profile.
func load(file string) (*profile.Profile, error) {
	f := os.Stdin
	if file != "-" {
		var err error
		if f, err = os.Open(file); err != nil {
			return nil, err
		}
		defer f.Close()
	}
	p, err := profile.Load(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// written is a profile as it is written: some of its stacks, or beside an earlier one.
type written struct {
	saved
	format  profile.Format
	earlier *profile.Profile // nil: none
}

// earlier reads the profile that is compared, before anything is sampled.
func (c *config) written() (*written, error) {
	w := &written{saved: c.saved, format: c.format}
	if c.base == "" {
		return w, nil
	}
	var err error
	w.earlier, err = load(c.base)
	return w, err
}

// of returns what writes a profile.
func (w *written) of(p *profile.Profile, o *profile.Options) (func(io.Writer) error, error) {
	if w.only != (profile.Only{}) {
		profile.Keep(p, w.only)
	}
	if w.earlier == nil {
		return func(out io.Writer) error { return p.Write(out, w.format, o) }, nil
	}
	if w.only != (profile.Only{}) {
		profile.Keep(w.earlier, w.only)
	}
	d, err := profile.NewDiff(w.earlier, p)
	if err != nil {
		return nil, err
	}
	return func(out io.Writer) error { return d.Write(out, w.format, o) }, nil
}

// render shows the profile in a file.
func (c *config) render(stdout, stderr io.Writer) error {
	w, err := c.written()
	if err != nil {
		return err
	}
	p, err := load(c.from)
	if err != nil {
		return err
	}
	if p.Subject == profile.ThreadCreate && (c.format == profile.Firefox || c.format == profile.Perf) {
		return fmt.Errorf("%s counts threads created, which have no times: %v shows when threads did what", c.from, c.format)
	}
	if p.Subject == profile.Time && c.format == profile.Creations {
		return fmt.Errorf("%s does not count threads created: -O threadcreate is for those", c.from)
	}
	if c.format == profile.Firefox || c.format == profile.Perf {
		fmt.Fprintf(stderr, "psample: a saved profile has no times: in %v all is at its start\n", c.format)
	}
	return c.put(stdout, p, w, nil)
}

// put writes a profile where the command line says.
func (c *config) put(stdout io.Writer, p *profile.Profile, w *written, hints []string) error {
	o := c.options()
	if c.output == "" && c.stacks < 2 && !c.functions && !c.registers {
		o.Screen = screenFor(stdout, hints)
	}
	if p.Subject == profile.ThreadCreate && w.format == profile.Folded {
		o.Value = profile.Samples
	}
	write, err := w.of(p, o)
	if err != nil {
		return err
	}
	if c.output != "" {
		err = profile.WriteFile(c.output, write)
	} else if err = write(stdout); err != nil && !errors.Is(err, profile.ErrNoDiff) {
		err = outputError(err)
	} else {
		err = nil
	}
	if err == nil && o.Value == profile.Goroutines && p.Total().Goroutines == 0 {
		return fmt.Errorf("no goroutine was seen%s", cmp.Or(because(p.Goroutines.Why), ": what was sampled is no Go program, or was sampled too shortly"))
	}
	return err
}

// because returns a reason to be added to an error, empty if there is none.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
