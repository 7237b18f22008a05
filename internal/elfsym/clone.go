package elfsym

import "strings"

// clones are the suffixes of functions that compilers have made out of another one and call in its place. A part that was
// split off (.part, .cold) is none: the function itself jumps to it.
var clones = map[string]bool{"constprop": true, "isra": true, "lto_priv": true, "llvm": true, "specialized": true, "localalias": true}

// isClone reports whether name is that of a clone of the function base: base.isra.0.constprop.1.
func isClone(name, base string) bool {
	rest, ok := strings.CutPrefix(name, base+".")
	if !ok {
		return false
	}
	for i, part := range strings.Split(rest, ".") {
		if digits := strings.Trim(part, "0123456789") == ""; !clones[part] && (!digits || i == 0 || part == "") {
			return false
		}
	}
	return true
}
