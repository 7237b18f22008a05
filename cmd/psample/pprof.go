package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/pprof/driver"
	pprof "github.com/google/pprof/profile"

	"ptools/internal/procfs"
)

// pprofAt is where pprof's own pages are.
const pprofAt = "/pprof/"

// pprofPages returns pprof's own pages of one profile, below pprofAt. Pages that save settings are left out: they
// would write files of the user who runs this. readsFiles allows the pages that read the files which the profile
// names.
func pprofPages(proto []byte, readsFiles bool) (http.Handler, error) {
	handlers, err := pprofHandlers(proto)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for path, h := range handlers {
		switch path {
		case "/":
			path = "/{$}"
		case "/saveconfig", "/deleteconfig":
			continue
		case "/source", "/disasm":
			h = guarded(h, readsFiles)
		}
		mux.Handle(pprofAt+path[1:], h)
	}
	return mux, nil
}

// guarded refuses clients on other machines: its pages are read from files that the profile names.
func guarded(h http.Handler, readsFiles bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		switch ip := net.ParseIP(host); {
		case ip == nil || !ip.IsLoopback():
			http.Error(w, "source and code are read from files of the machine that psample runs on, and shown there only", http.StatusForbidden)
		case !readsFiles:
			http.Error(w, "source and code are not shown: a program of another user, or in a container, says in which files they are", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// ownFiles reports whether the users of some processes could themselves read the files that a profile of the
// processes names. A program says where its source is. A program of another user, or in a container, could have us
// show any file.
func ownFiles(pids []int) bool {
	user := os.Geteuid()
	for _, pid := range pids {
		status, err := procfs.ReadStatus(pid)
		if err != nil || status.UID != [4]int{user, user, user, user} || !seesOurFiles(pid) {
			return false
		}
	}
	return true
}

// seesOurFiles reports whether a path names the same file for a process as for us.
func seesOurFiles(pid int) bool {
	for _, link := range []string{"ns/mnt", "root"} {
		its, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, link))
		if ours, err2 := os.Readlink("/proc/self/" + link); err != nil || err2 != nil || its != ours {
			return false
		}
	}
	return true
}

func pprofHandlers(proto []byte) (handlers map[string]http.Handler, err error) {
	err = driver.PProf(&driver.Options{
		Flagset: &pprofFlags{FlagSet: flag.NewFlagSet("pprof", flag.ContinueOnError)},
		Fetch:   pprofFetcher(proto),
		UI:      pprofUI{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			handlers = args.Handlers
			return nil
		},
	})
	return handlers, err
}

// pprofFetcher gives pprof a profile that is in memory.
type pprofFetcher []byte

func (f pprofFetcher) Fetch(string, time.Duration, time.Duration) (*pprof.Profile, string, error) {
	p, err := pprof.ParseData(f)
	return p, "psample", err
}

// pprofFlags is the command line of pprof.
type pprofFlags struct{ *flag.FlagSet }

func (f *pprofFlags) StringList(name, value, usage string) *[]*string {
	return &[]*string{f.String(name, value, usage)}
}
func (*pprofFlags) ExtraUsage() string   { return "" }
func (*pprofFlags) AddExtraUsage(string) {}

func (f *pprofFlags) Parse(func()) []string {
	if f.FlagSet.Parse([]string{"-http=localhost:0", "-no_browser", "-symbolize=none", "psample"}) != nil {
		return nil
	}
	return f.Args()
}

// pprofUI is a user interface without input and output.
type pprofUI struct{}

func (pprofUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (pprofUI) Print(...any)                        {}
func (pprofUI) PrintErr(...any)                     {}
func (pprofUI) IsTerminal() bool                    { return false }
func (pprofUI) WantBrowser() bool                   { return false }
func (pprofUI) SetAutoComplete(func(string) string) {}
