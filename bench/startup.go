package main

import (
	"context"
	"time"
)

// startUp is the row of how long the commands take until they print something.
func startUp(ctx context.Context, l *lab) {
	limit := []goal{{AtMost: (10 * time.Millisecond).Seconds()}}
	for _, name := range []string{"pgrab", "psample"} {
		help := name + " --help"
		l.add(row{Name: help, Unit: seconds, Goals: limit,
			Series: interleave(ctx, max(10, l.repeats), []contender{
				{"strace --version", peer, "strace", wall("strace", "--version")},
				{"eu-stack --version", peer, "eu-stack", wall("eu-stack", "--version")},
				{help, ours, "", wall(l.tool(ctx, name), "--help")},
			})})
	}
}
