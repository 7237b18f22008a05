package main

// help is what --help prints; a test compares it with the flags.
const help = `usage: psample [flags] -p PID|NAME[,…]
       psample [flags] --cgroup GLOB
       psample [flags] -- COMMAND [ARG…]
       psample render [flags] FILE
       psample --demo
       psample --check [-p PID] [--json]

Shows where the threads of a program spend their time.

  -p, --pid PID             a running process, or those with a name or executable that
                            matches, as nginx, /usr/bin/python3* (repeatable, or
                            separated by commas or blanks); several are one profile
      --cgroup GLOB         those in a cgroup whose path matches, as **/nginx.service
                            (* is without slashes, ** with); with -p NAME those of both
  -F, --rate HZ             samples per second (default 99)
  -d, --delta MS            the same as an interval in milliseconds
  -t, --time DURATION       sample this long; a bare number is seconds
                            (default: until the target ends or ^C)
  -s, --stacks              histogram: shares of the function itself and of the
                            stacks it is on; twice (-ss): also print every
                            sample's stack
  -f, --functions           print each sample's function as it is taken
  -l, --lines               file:line instead of functions
  -r, --registers           print each sample's registers
      --value VALUE         samples, cpu, wall, ready (wall time in which a thread
                            waited for a processor) or goroutines (time of those of Go
                            programs): what text is sorted by, what html shows first,
                            and what the other formats show (default cpu); html and
                            json have all, pprof all but ready
      --threads             keep threads apart (by name and tid)
      --follow              also the processes that the targets start, until all have
                            ended
      --by WHAT             with --follow, what is at the root of stacks: process (default
                            of folded and speedscope), command (of html and svg) or
                            none; goroutine: each goroutine of a Go program by itself
      --include REGEXP      only stacks with a function whose name matches
      --exclude REGEXP      only stacks without such a function
      --diff BASE           what has grown and shrunk since the profile in the file BASE,
                            in shares: as text, folded, html, svg or json
      --kernel              kernel frames too (needs timers)
      --timers WHEN         measure processor time by timers of the processors, which stop
                            no thread: auto (where permitted), off or only
      --goroutines WHEN     of Go programs, where goroutines wait, at a hundredth of a
                            processor: auto (not with --follow, --top, --blame) or off
      --threadcreate        where threads are created, instead of where time goes;
                            with -O threadcreate in Go's text form: a line for each
                            stack, its count and addresses
      --blame               time that threads wait for locks, by the stacks of the
                            threads that hold them; html shows those that wait too
      --top                 live view on a terminal: ? lists its keys; elsewhere a
                            table a second; the profile is written with -o only
      --http ADDR           serve the page with flame graphs, which follows the sampling,
                            and at /pprof/ pprof's own pages; ADDR is HOST:PORT,
                            without HOST on this machine only; port 0 is a free one
  -o, --output FILE         write the profile to FILE (default: standard output)
  -O, --format FORMAT       text, folded, pprof, speedscope, firefox, json, perf
                            (what perf script prints), html (a page with flame
                            graphs) or svg (a flame graph); default by FILE's
                            ending: .txt .folded .pb.gz .speedscope.json
                            .firefox.json .json .perf .html .svg, else text
  -q, --quiet               no progress and no closing line
      --demo                profile a built-in workload; for it the defaults are
                            -t 3 (not with --top) and -F 499
      --check               what works here, by which mechanism, and what to do about the
                            rest; with -p also for that process
      --json                with --check: for programs
      --version             print version and commit
      --print WHAT          print a man page (man), or the completion of a shell:
                            bash, zsh or fish
  -h, --help                print this help

With a COMMAND the exit status is the command's. The text shows for each function its
share of the processor time that was used, and of the wall time of all threads. render
shows a profile that was saved as json or pprof, of other tools too, with the flags -o, -O,
-s, -l, --value, --threads, --by, --include, --exclude and --diff.

examples:
  psample -t 10 -p 4242                  histogram of ten seconds
  psample -s -p 4242                     with callers
  psample -t 10 -o prof.html -p 4242     flame graphs, for a browser
  psample -o prof.pb.gz -- ./server -x   until it ends; go tool pprof prof.pb.gz
  psample -O folded -p 4242 >out.folded  for flame graph scripts
  psample --follow -o make.txt -- make   all processes of a build, by command
  psample --top -p 4242                  what is it doing?
  psample --blame -t 10 -p 4242          who holds the locks?
  psample --threadcreate -t 60 -p 4242   who starts all these threads?
  psample -t 10 --diff old.json -p 4242  what has changed since old.json?
  psample render -o new.html new.json    the page of a saved profile
`
