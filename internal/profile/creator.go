package profile

import (
	"path"
	"slices"
	"strings"
)

// Starters are the functions between the system call that creates a thread and the
// function that wanted the thread: those of the C library and of language runtimes. A
// library is recognized by its file, a statically linked function by its name.
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
// with the function that wanted the thread. If the stack has no such function,
// it returns the whole stack. The system call and the library's way to it are
// the same in every stack, so they do not inform the reader.
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

// IsLibrary reports whether a function belongs to the C library, or to a language's own
// threads.
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
