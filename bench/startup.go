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
	limit := []goal{{AtMost: (10 * time.Millisecond).Seconds()}}
	var rows []row
	for _, x := range [][2]string{{"pgrab", pgrab}, {"psample", psample}} {
		rows = append(rows, row{Name: x[0] + " --help", Unit: seconds, Goals: limit,
			Series: interleave(ctx, max(10, l.repeats), []contender{
				{"strace --version", peer, "strace", wall("strace", "--version")},
				{"eu-stack --version", peer, "eu-stack", wall("eu-stack", "--version")},
				{x[0] + " --help", ours, "", wall(x[1], "--help")},
			})})
	}
	return rows, nil
}
