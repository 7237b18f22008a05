package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// postgresBin returns the directory with the server's programs.
func postgresBin() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well-formed
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("postgres is not installed")
	}
	return filepath.Dir(initdb), nil
}

// startPostgres starts a server as an ordinary user: it refuses to be root.
func startPostgres(ctx context.Context, s *stage) error {
	bin, err := postgresBin()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-postgres-")
	if err != nil {
		return err
	}
	s.l.litter = append(s.l.litter, dir)
	argv, err := asNobody(bin, dir)
	if err != nil {
		return err
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	if _, err := finish(ctx, argv("initdb", "-D", data, "-U", "bench", "-A", "trust", "--no-sync")...); err != nil {
		return err
	}
	b, err := s.launch(ctx, argv("postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", dir, "-F")...)
	if err != nil {
		return err
	}
	if err := b.says(ctx, "ready to accept connections"); err != nil {
		return err
	}
	if _, err := finish(ctx, argv("pgbench", "-h", "127.0.0.1", "-p", port, "-U", "bench", "-i", "-q", "postgres")...); err != nil {
		return err
	}
	// A first connection, which only asks, has ended when there is progress.
	c, err := s.launch(ctx, argv("pgbench", "-h", "127.0.0.1", "-p", port, "-U", "bench", "-S", "-c", "2", "-T", "600", "-P", "1", "postgres")...)
	if err != nil {
		return err
	}
	if err := c.says(ctx, "progress: "); err != nil {
		return err
	}
	if s.pids = backends(b.cmd.Process.Pid); len(s.pids) != 2 {
		return fmt.Errorf("processes %v serve two clients", s.pids)
	}
	return nil
}

// asNobody returns what makes command lines of the server's programs, run by the owner of dir: nobody,
// where we are root.
func asNobody(bin, dir string) (func(program string, args ...string) []string, error) {
	var prefix []string
	if os.Geteuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(u.Uid) // numbers on Linux
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		prefix = []string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups"}
	}
	return func(program string, args ...string) []string {
		return append(with(prefix, filepath.Join(bin, program)), args...)
	}, nil
}

// backends returns the processes of a postgres that serve clients of the user bench.
func backends(server int) (pids []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", server)) // await says that there are none
	for _, f := range strings.Fields(string(b)) {
		title, _ := os.ReadFile("/proc/" + f + "/cmdline")
		if pid, err := strconv.Atoi(f); err == nil && strings.Contains(string(title), ": bench postgres 127.0.0.1") {
			pids = append(pids, pid)
		}
	}
	return pids
}
