package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// program is a real program at work.
type program struct {
	needs []string // programs that must be installed
	start func(context.Context, *stage)
}

// stage has the processes that were started for a program, and those that are profiled.
type stage struct {
	l       *lab
	running []*background // ended in the reverse order
	targets []*target
	pids    []int
}

var (
	goServer = program{nil, startGoServer}
	redis    = program{[]string{"redis-server", "redis-benchmark"}, startRedis}
	postgres = program{[]string{"pgbench", "setpriv"}, startPostgres}
	nginx    = program{[]string{"nginx", "wrk"}, startNginx}
	node     = program{[]string{"node", "wrk"}, startNode}
	python   = program{[]string{"python3"}, startPython}
)

// on starts the program, waits until it has warmed up (caches fill, code is compiled), calls run, and ends the
// program.
func (p program) on(ctx context.Context, l *lab, run func(*stage)) {
	need(p.needs...)
	s := &stage{l: l}
	err := attempt(func() {
		p.start(ctx, s)
		check(sleep(ctx, settle))
		run(s)
	})
	check(errors.Join(err, s.end()))
}

// launch starts a process, which end ends.
func (s *stage) launch(ctx context.Context, argv ...string) *background {
	b := must(launch(ctx, argv...))
	s.running = append(s.running, b)
	return b
}

// end ends everything that was started. Clients report that their server has gone; they were started
// last, so they are ended first.
func (s *stage) end() (err error) {
	for _, t := range s.targets {
		t.stop()
	}
	for i := len(s.running) - 1; i >= 0; i-- {
		b := s.running[i]
		if e := b.end(syscall.SIGTERM); e != nil && !errors.As(e, new(*exec.ExitError)) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// announced starts a server that prints "at ADDRESS" and returns the address.
func (s *stage) announced(ctx context.Context, argv ...string) string {
	b := s.launch(ctx, argv...)
	check(b.says(ctx, "\n"))
	_, address, ok := strings.Cut(string(b.out.bytes()), "at ")
	if !ok {
		fail("%s says %q", argv[0], b.out.bytes())
	}
	s.pids = append(s.pids, b.cmd.Process.Pid)
	return strings.TrimSpace(address)
}

func startGoServer(ctx context.Context, s *stage) {
	exe := s.l.gobuild(ctx, "goserver.go")
	url := s.announced(ctx, exe)
	s.launch(ctx, exe, "-clients", "4", "-url", url)
}

func startNode(ctx context.Context, s *stage) {
	url := s.announced(ctx, "node", "--perf-basic-prof", "--no-logfile-per-isolate", "--logfile=+", s.l.source("nodeserver.js"))
	s.launch(ctx, "wrk", "-t1", "-c4", "-d600s", url)
}

func startPython(ctx context.Context, s *stage) {
	// The file of that name may be a script that runs python3.
	r := must(finish(ctx, "python3", "-c", "import sys; print(sys.executable)"))
	s.announced(ctx, strings.TrimSpace(string(r.out)), s.l.source("pyserver.py"))
}

// freePort returns a port on which nothing listens.
func freePort() string {
	at := must(net.Listen("tcp", "127.0.0.1:0"))
	defer at.Close()
	return strconv.Itoa(at.Addr().(*net.TCPAddr).Port)
}

// listens waits until a server listens on a port.
func listens(ctx context.Context, port string) {
	check(await(ctx, "a server on port "+port, func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	}))
}

func startRedis(ctx context.Context, s *stage) {
	port := freePort()
	b := s.launch(ctx, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", s.l.dir)
	s.pids = append(s.pids, b.cmd.Process.Pid)
	listens(ctx, port)
	s.launch(ctx, "redis-benchmark", "-p", port, "-c", "8", "-t", "set", "-r", "10000", "-d", "64", "-n", "100000000", "-q")
}

// nginxConfig configures one process that compresses what it sends.
const nginxConfig = `daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events { worker_connections 64; }
http {
	access_log off; gzip on; gzip_types text/plain; keepalive_requests 1000000;
	client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
	server { listen 127.0.0.1:%s; root %s; }
}
`

func startNginx(ctx context.Context, s *stage) {
	port := freePort()
	var page strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&page, "line %d of a page\n", i*7919%2000)
	}
	config := fmt.Sprintf(nginxConfig, port, s.l.dir)
	check(os.WriteFile(s.l.path("page.txt"), []byte(page.String()), 0o644))
	check(os.WriteFile(s.l.path("nginx.conf"), []byte(config), 0o644))
	b := s.launch(ctx, "nginx", "-p", s.l.dir, "-c", s.l.path("nginx.conf"))
	s.pids = append(s.pids, b.cmd.Process.Pid)
	listens(ctx, port)
	s.launch(ctx, "wrk", "-t1", "-c4", "-d600s", "-H", "Accept-Encoding: gzip", "http://127.0.0.1:"+port+"/page.txt")
}
