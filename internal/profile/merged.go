package profile

import "strings"

// In a table for users the processor time of a system call and the time that is spent waiting in it are in one
// line. It is that of the function which makes the call, followed by the call's name unless the function has the
// same name.

// merged appends the labels of a stack to dst, innermost first, each system call as part of its caller.
func (s *Space) merged(stack StackID, o *Options, dst []label) []label {
	call := ""
	for ; stack != 0; stack = s.nodes[stack].caller {
		l := &s.locs[s.nodes[stack].loc]
		if name := s.callNote(l); name != "" && s.nodes[stack].caller != 0 {
			call = name
			continue
		}
		first := len(dst)
		dst = s.locationLabels(l, o, dst)
		if call != "" && !sameCall(dst[first].name, call) {
			dst[first].call = call
		}
		call = ""
	}
	return dst
}

// callNote returns the name of a level that stands for a system call, with its brackets, or "".
func (s *Space) callNote(l *location) string {
	if l.addr.Kind != note {
		return ""
	}
	if name := s.profile.notes[l.addr.PC]; strings.HasPrefix(name, "[") {
		return name
	}
	return ""
}

// sameCall reports whether a function is a C library's wrapper of a call by the same name.
func sameCall(function, call string) bool {
	name := strings.TrimLeft(function, "_")
	for _, prefix := range []string{"GI_", "libc_"} {
		name = strings.TrimLeft(strings.TrimPrefix(name, prefix), "_")
	}
	return name == strings.Trim(call, "[]")
}
