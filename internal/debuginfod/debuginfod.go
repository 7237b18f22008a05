// Package debuginfod has separate debug files fetched from the servers that the user has named in DEBUGINFOD_URLS
// (debuginfod(8)). The asking is left to elfutils' own client, debuginfod-find: its cache, its limits of time and size and
// its other variables hold as for gdb and perf. Without DEBUGINFOD_URLS nothing is done, and the cache is not read.
package debuginfod

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ptools/internal/patience"
)

// client is the program that asks the servers.
const client = "debuginfod-find"

// Wanted reports whether the user has named servers.
func Wanted() bool { return strings.TrimSpace(os.Getenv("DEBUGINFOD_URLS")) != "" }

// Available returns why there is nobody to ask the servers, nil if there is.
func Available() error {
	if _, err := exec.LookPath(client); err != nil {
		return fmt.Errorf("DEBUGINFOD_URLS is set, but %s (elfutils) is not installed", client)
	}
	return nil
}

// Find has the debug file with a build id fetched, unless the cache has it. It may be called from any goroutine.
func Find(ctx context.Context, id string) error {
	cmd := exec.CommandContext(ctx, client, "debuginfo", id)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n"); line != "" {
			return errors.New(line)
		}
		return fmt.Errorf("%s: %w", client, err)
	}
	return nil
}

// Open opens the debug file with a build id, if the cache has it. It asks no server.
func Open(id string) (*os.File, error) {
	dir := cache()
	if !Wanted() || dir == "" || strings.Trim(id, "0123456789abcdef") != "" || id == "" {
		return nil, fs.ErrNotExist
	}
	return patience.Open(filepath.Join(dir, id, "debuginfo"))
}

// cache returns the client's directory (debuginfod_find_debuginfo(3), CACHE); "" if there is none.
func cache() string {
	if dir := os.Getenv("DEBUGINFOD_CACHE_PATH"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if old := filepath.Join(home, ".debuginfod_client_cache"); err == nil {
		if _, err := patience.Do(func() (os.FileInfo, error) { return os.Stat(old) }, func(os.FileInfo) {}); err == nil {
			return old
		}
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "debuginfod_client")
}
