package job

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ptools/internal/debuginfod"
	"ptools/internal/elfsym"
	"ptools/internal/patience"
	"ptools/pctl/handle"
)

// Bounds of what is fetched before a tool begins. The client has its own for one file.
const (
	longestFetch  = 90 * time.Second
	fetchesAtOnce = 4
	mostFetched   = 1000 // files
)

// FetchDebug has the debug files fetched that processes lack, or a command and the libraries that it is linked with, if the
// user has named servers for them in DEBUGINFOD_URLS. It is called before anything is done to a process, and tells what it
// waits for. What cannot be had in 90 seconds is done without.
func FetchDebug(ctx context.Context, tool string, stderr io.Writer, command []string, pids []int) {
	if !debuginfod.Wanted() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longestFetch)
	defer cancel()
	fetch(ctx, tool, stderr, func(files *elfsym.Cache) (ids []string) {
		for _, pid := range pids {
			ids = append(ids, wantedOf(pid, files)...)
		}
		if len(command) == 0 {
			return ids
		}
		path, err := exec.LookPath(command[0])
		if err != nil {
			return ids // the command is not found: what comes next says so
		}
		for _, name := range append([]string{path}, linked(ctx, path)...) {
			ids = append(ids, wantedIn(name, files)...)
		}
		return ids
	})
}

// fetch fetches what wanted returns, and then the supplementary files of what was fetched.
func fetch(ctx context.Context, tool string, stderr io.Writer, wanted func(*elfsym.Cache) []string) {
	if err := debuginfod.Available(); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", tool, err)
		return
	}
	asked := make(map[string]bool)
	for range 2 {
		var ids []string
		for _, id := range look(wanted) {
			if !asked[id] && len(asked) < mostFetched {
				asked[id] = true
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return
		}
		files := "1 debug file"
		if len(ids) > 1 {
			files = fmt.Sprintf("%d debug files", len(ids))
		}
		fmt.Fprintf(stderr, "%s: asking the servers of DEBUGINFOD_URLS for %s\n", tool, files)
		found, err := findAll(ctx, ids)
		switch {
		case found == 0 && err != nil:
			fmt.Fprintf(stderr, "%s: going on without: %v\n", tool, err)
			return
		case found < len(ids):
			fmt.Fprintf(stderr, "%s: %d found; another one: %v\n", tool, found, err)
		}
	}
}

// look calls wanted with files that are opened anew: those that were opened before do not see what was fetched since.
func look(wanted func(*elfsym.Cache) []string) []string {
	files := elfsym.NewCache(16)
	defer files.Close()
	return wanted(files)
}

// findAll has files fetched, a few at the same time. It returns how many there are, and the first error.
func findAll(ctx context.Context, ids []string) (found int, first error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	places := make(chan struct{}, fetchesAtOnce)
	for _, id := range ids {
		places <- struct{}{}
		group.Go(func() {
			defer func() { <-places }()
			err := debuginfod.Find(ctx, id)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("not in %v", longestFetch)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				found++
			} else if first == nil {
				first = err
			}
		})
	}
	group.Wait()
	return found, first
}

// wantedOf returns the build ids of debug files that a process lacks; none if it cannot be looked at: what comes next says why.
func wantedOf(pid int, files *elfsym.Cache) (ids []string) {
	space, err := handle.NewSpace(pid, files)
	if err != nil {
		return nil
	}
	defer space.Close()
	for _, o := range space.Objects() {
		if o.File == nil || strings.HasPrefix(o.Name, "[") {
			continue
		}
		if id := o.File.Wanted(); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// ownFiles opens debug files in our own root.
type ownFiles struct{}

func (ownFiles) OpenDebug(path string) (*os.File, error) { return patience.Open(path) }
func (ownFiles) OpenID(id string) (*os.File, error)      { return debuginfod.Open(id) }

// wantedIn is wantedOf for one file.
func wantedIn(path string, files *elfsym.Cache) []string {
	file, err := patience.Open(path)
	if err != nil {
		return nil
	}
	f, err := files.Open(file, path, ownFiles{})
	if err != nil {
		return nil
	}
	if id := f.Wanted(); id != "" {
		return []string{id}
	}
	return nil
}

// linked returns the paths of the libraries that a program is linked with, as its dynamic linker says.
func linked(ctx context.Context, path string) (paths []string) {
	linker := linkerOf(path)
	if linker == "" {
		return nil
	}
	out, err := exec.CommandContext(ctx, linker, "--list", path).Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		for _, word := range strings.Fields(line) {
			if filepath.IsAbs(word) {
				paths = append(paths, word)
				break
			}
		}
	}
	return paths
}

// linkerOf returns the path of a program's dynamic linker, "" if it has none.
func linkerOf(path string) string {
	file, err := patience.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	f, err := elf.NewFile(file)
	if err != nil {
		return ""
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		name, err := io.ReadAll(p.Open())
		if err == nil {
			return strings.TrimRight(string(name), "\x00")
		}
	}
	return ""
}
