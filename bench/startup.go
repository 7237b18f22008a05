package main

import (
	"context"
	"time"
)

// startUp is the row of how long the commands need to say something.
func startUp(ctx context.Context, l *lab) ([]row, error) {
	pgrab, err := l.tool(ctx, "pgrab")
	if err != nil {
		return nil, err
	}
	psample, err := l.tool(ctx, "psample")
	if err != nil {
		return nil, err
	}
	help := func(argv ...string) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			r, err := finish(ctx, argv...)
			if err != nil {
				return 0, err
			}
			return r.wall.Seconds(), nil
		}
	}
	limit := []goal{{AtMost: (10 * time.Millisecond).Seconds()}}
	var rows []row
	for _, x := range [][2]string{{"pgrab", pgrab}, {"psample", psample}} {
		rows = append(rows, row{Name: x[0] + " --help", Unit: seconds, Goals: limit,
			Series: interleave(ctx, max(10, l.repeats), []contender{
				{"strace --version", peer, "strace", help("strace", "--version")},
				{"eu-stack --version", peer, "eu-stack", help("eu-stack", "--version")},
				{x[0] + " --help", ours, "", help(x[1], "--help")},
			})})
	}
	return rows, nil
}
