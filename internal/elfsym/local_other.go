//go:build !linux

package elfsym

import "os"

// local reports whether the file system of a file answers for sure.
func local(*os.File) bool { return false }
