package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// postgresBin returns the directory with the server's programs.
func postgresBin() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well-formed
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		fail("postgres is not installed")
	}
	return filepath.Dir(initdb)
}

// startPostgres starts a server as an ordinary user: it refuses to be root.
func startPostgres(ctx context.Context, s *stage) {
	bin := postgresBin()
	dir := must(os.MkdirTemp("", "bench-postgres-"))
	s.l.litter = append(s.l.litter, dir)
	argv := asNobody(bin, dir)
	port := freePort()
	data := filepath.Join(dir, "data")
	must(finish(ctx, argv("initdb", "-D", data, "-U", "bench", "-A", "trust", "--no-sync")...))
	b := s.launch(ctx, argv("postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", dir, "-F")...)
	check(b.says(ctx, "ready to accept connections"))
	must(finish(ctx, argv("pgbench", "-h", "127.0.0.1", "-p", port, "-U", "bench", "-i", "-q", "postgres")...))
	// pgbench makes a first connection for queries of its own. It has ended when there is progress.
	c := s.launch(ctx, argv("pgbench", "-h", "127.0.0.1", "-p", port, "-U", "bench", "-S", "-c", "2", "-T", "600", "-P", "1", "postgres")...)
	check(c.says(ctx, "progress: "))
	if s.pids = backends(b.cmd.Process.Pid); len(s.pids) != 2 {
		fail("processes %v serve two clients", s.pids)
	}
}

// asNobody returns a function that makes command lines of the server's programs. They run as the owner
// of dir, which is nobody if we are root.
func asNobody(bin, dir string) func(program string, args ...string) []string {
	var prefix []string
	if os.Geteuid() == 0 {
		u := must(user.Lookup("nobody"))
		uid, _ := strconv.Atoi(u.Uid) // numbers on Linux
		gid, _ := strconv.Atoi(u.Gid)
		check(os.Chown(dir, uid, gid))
		prefix = []string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups"}
	}
	return func(program string, args ...string) []string {
		return append(with(prefix, filepath.Join(bin, program)), args...)
	}
}

// backends returns the processes of a postgres that serve clients of the user bench.
func backends(server int) (pids []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", server)) // without it await fails
	for _, f := range strings.Fields(string(b)) {
		title, _ := os.ReadFile("/proc/" + f + "/cmdline")
		if pid, err := strconv.Atoi(f); err == nil && strings.Contains(string(title), ": bench postgres 127.0.0.1") {
			pids = append(pids, pid)
		}
	}
	return pids
}
