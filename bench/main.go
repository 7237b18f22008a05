package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// config is the command line.
type config struct {
	quick          bool
	list           bool
	repeats        int
	rows           *regexp.Regexp
	markdown, json string
	psample        string
}

func parse(args []string, stderr io.Writer) (*config, error) {
	c := new(config)
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.BoolVar(&c.quick, "quick", false, "short windows")
	fs.BoolVar(&c.list, "list", false, "only print the names of the rows")
	fs.IntVar(&c.repeats, "repeats", 0, "how often each contender is measured (default 5, with -quick 3)")
	fs.StringVar(&c.markdown, "markdown", "", "write the tables to this file, as Markdown")
	fs.StringVar(&c.json, "json", "", "write all values to this file, as JSON")
	fs.StringVar(&c.psample, "psample", "", "measure this psample instead of the one that is built from this tree")
	expr := fs.String("run", "", "only the rows whose name matches this regular expression")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if c.repeats == 0 {
		c.repeats = 5
		if c.quick {
			c.repeats = 3
		}
	}
	if fs.NArg() > 0 || c.repeats < 1 {
		return nil, errors.New("usage: bench [-quick] [-repeats N] [-run REGEXP] [-markdown FILE] [-json FILE] [-psample FILE]")
	}
	var err error
	c.rows, err = regexp.Compile(*expr)
	return c, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	chosen := choose(experiments, c.rows)
	if c.list {
		for _, x := range chosen {
			fmt.Fprintln(stdout, x.name)
		}
		return nil
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("%s/%s: %w", runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)
	}
	l, err := newLab(ctx, c, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	r := &report{Machine: describe(), Repeats: c.repeats, Quick: c.quick}
	r.Rows = l.perform(ctx, chosen)
	r.Machine.LoadAfter = loadAverage()
	if err := r.text(stdout); err != nil {
		return err
	}
	return errors.Join(r.save(c.markdown, r.markdown), r.save(c.json, r.json), ctx.Err())
}
