package handle

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"ptools/internal/elfsym"
	"ptools/internal/patience"
)

// TestUnanswered: the error of a file system that hangs or is gone has one text, for open(2) and for a read of the
// headers. Both wait for the same time, and either may fail first. An error of the file itself is none of that kind.
func TestUnanswered(t *testing.T) {
	const hung = "read /net/prog: its file system does not answer"
	for _, c := range []struct {
		err  error
		want string
	}{
		{patience.ErrHung, hung},
		{fmt.Errorf("elfsym: /net/prog: %w", patience.ErrHung), hung},
		{&os.PathError{Op: "open", Path: "/proc/1/map_files/0-1", Err: syscall.ENOTCONN}, "read /net/prog: " + syscall.ENOTCONN.Error()},
		{syscall.EIO, "read /net/prog: " + syscall.EIO.Error()},
		{elfsym.ErrFormat, ""},
		{&os.PathError{Op: "open", Path: "/net/prog", Err: syscall.ENOENT}, ""},
		{nil, ""},
	} {
		got := unanswered("/net/prog", c.err)
		if got == nil && c.want == "" {
			continue
		}
		if got == nil || got.Error() != c.want || !errors.Is(c.err, errors.Unwrap(got)) {
			t.Errorf("of %v: %v, want %q", c.err, got, c.want)
		}
	}
}
