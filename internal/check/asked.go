package check

import (
	"context"
	"io"
	"strconv"

	"github.com/spf13/pflag"

	"ptools/internal/usage"
)

// A Request is a command line that asks for a check, as an error of its parser.
type Request struct {
	PID  int // 0: none
	JSON bool
}

// Error implements error.
func (Request) Error() string { return "asked for a check" }

// Write checks, and writes the report.
func (r Request) Write(ctx context.Context, w io.Writer) error {
	report := Run(ctx, r.PID)
	if r.JSON {
		return report.JSON(w)
	}
	return report.Text(w)
}

// Asked returns the Request that flags ask for, or nil. The flags are check, json and pid; pids are the values of pid.
func Asked(f *pflag.FlagSet, pids []string) error {
	if yes, _ := f.GetBool("check"); !yes {
		return nil
	}
	var r Request
	var other error
	f.Visit(func(g *pflag.Flag) {
		switch g.Name {
		case "check", "pid":
		case "json":
			r.JSON = true
		default:
			other = usage.Errorf("--check takes no --%s: only -p PID and --json", g.Name)
		}
	})
	switch {
	case other != nil:
		return other
	case f.NArg() > 0:
		return usage.Errorf("--check starts no command: only -p PID and --json go with it")
	case len(pids) > 1:
		return usage.Errorf("--check looks at one process, not at %d", len(pids))
	case len(pids) == 1:
		pid, err := strconv.Atoi(pids[0])
		if err != nil || pid <= 0 {
			return usage.Errorf("%q is not a process id", pids[0])
		}
		r.PID = pid
	}
	return r
}
