package profile

import (
	"path"
	"slices"
	"strings"
)

// Starters are what stands between the system call that creates a thread and
// the function that wanted the thread: the C library and the languages' own. A library is
// recognized by its file, what is linked statically by name.
var (
	starterLibraries = []string{"libc.so", "libc-", "libpthread", "ld-musl", "libstdc++.so", "libc++.so"}
	starterPrefixes  = []string{"std::thread::", "std::__1::thread::", "std::sys::", "<std::sys::", "runtime.newosproc"}
	starterNames     = map[string]bool{
		"clone": true, "__clone": true, "clone3": true, "__clone3": true, "__clone_internal": true,
		"create_thread": true, "pthread_create": true, "__pthread_create": true, "thrd_create": true,
		"runtime.clone": true, "runtime.retryOnEAGAIN": true, "runtime.newm1": true, "runtime.newm": true, "runtime.startm": true,
	}
)

// creator returns the part of a stack of a ThreadCreate profile that begins
// with the function that wanted the thread, the whole stack if it has none. The
// system call and the library's way to it are the same in every stack and tell
// the reader nothing.
func (s *Space) creator(stack StackID) StackID {
	for at := stack; at != 0; at = s.nodes[at].caller {
		if !s.starts(&s.locs[s.nodes[at].loc]) {
			return at
		}
	}
	return stack
}

// starts reports whether all functions at l are starters.
func (s *Space) starts(l *location) bool {
	if len(l.lines) == 0 {
		return l.mapping >= 0 && starterLibrary(s.mappings[l.mapping].Path)
	}
	for _, n := range l.lines {
		f := &s.profile.functions[n.fn]
		if !starterLibrary(f.object) && !starterFunction(f.name) {
			return false
		}
	}
	return true
}

// IsLibrary reports whether a function is the C library's, or of a language's own threads.
func IsLibrary(name, object string) bool { return starterLibrary(object) || starterFunction(name) }

func starterLibrary(object string) bool {
	return hasPrefixOf(path.Base(object), starterLibraries)
}

func starterFunction(name string) bool {
	return starterNames[name] || hasPrefixOf(name, starterPrefixes)
}

func hasPrefixOf(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}
