package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"ptools/internal/procfs"
	"ptools/pctl/targets"
)

// cmdline shows the command line as Go programs do: a zero byte between arguments.
func (s *Server) cmdline(q *query) (*answer, error) {
	const most = 64 << 10
	line, err := procfs.CommandLine(q.target.PID, most)
	if procfs.Lacking(err) {
		return nil, err
	}
	if err != nil || !q.target.Alive() {
		return nil, statusError{http.StatusNotFound, fmt.Errorf("process %d has ended", q.target.PID)}
	}
	a := &answer{kind: textKind}
	a.body.Write(bytes.TrimSuffix(line, []byte{0}))
	return a, nil
}

// arguments returns what is behind the first word of a command line: programs that set their title leave only blanks in between.
func arguments(t *targets.Target) string {
	const most = 300
	line, _ := procfs.CommandLine(t.PID, most) // one that has ended has none
	_, args, _ := strings.Cut(strings.ReplaceAll(string(line), "\x00", " "), " ")
	return strings.TrimSpace(args)
}
