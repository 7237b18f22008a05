package calls

import (
	"fmt"
	"path"
	"strings"
)

// NotFound is the error for a pattern that names no function of a process.
type NotFound struct {
	PID     int
	Pattern string
	Object  string   // that the pattern names and the process has not mapped; empty if it has
	Similar []string // names that may have been meant
	// Stripped is the file that was to be searched first, if its symbol table is missing.
	Stripped string
	File     string // that the pattern names by its path
}

// NotFound returns why a pattern that Selection.Missed has names nothing.
func (p *Process) NotFound(pattern *Pattern) *NotFound {
	e := &NotFound{PID: p.PID, Pattern: pattern.Text}
	file, stripped, ok := p.Object(pattern)
	if object, _, named := strings.Cut(pattern.Text, "`"); named && !ok {
		e.Object = object
		return e
	}
	if name, ok := pattern.path(); ok {
		e.File = name
	} else {
		e.Similar = p.Similar(pattern)
	}
	if stripped {
		e.Stripped = file
	}
	return e
}

func (e *NotFound) Error() string {
	if e.Object != "" {
		text := fmt.Sprintf("process %d has mapped no object named %s", e.PID, e.Object)
		if path.IsAbs(e.Object) {
			return text + ", and has no such file"
		}
		return text + "; one that is loaded later is named by its path"
	}
	in := e.File
	if in == "" {
		in = fmt.Sprintf("what process %d has mapped", e.PID)
	}
	text := fmt.Sprintf("no function is named %s in %s", e.Pattern, in)
	if len(e.Similar) > 0 {
		text += " (similar: " + strings.Join(e.Similar, ", ") + ")"
	}
	if e.Stripped != "" {
		text += fmt.Sprintf("; %s is stripped: without its debug information only functions that it exports have names", path.Base(e.Stripped))
	}
	return text
}
