package main

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"testing"

	"ptools/internal/ptest"
)

// TestNoThread: the kernel refuses new threads after the start. psampled serves and samples with those that it has, also by stops,
// where each process keeps one.
func TestNoThread(t *testing.T) {
	t.Parallel()
	ptest.NeedUsers(t)
	ptest.Need(t, "setpriv")
	ptest.Need(t, "prlimit")
	args := []string{"--timers", "off"}
	var list []int
	for range 16 {
		g := ptest.Start(t, "sleep", "600")
		list = append(list, g.PID)
		args = append(args, "-p", fmt.Sprint(g.PID))
	}
	r := startConfined(t, unitCapabilities(t), args...)
	r.url = r.await(`served at (\S+)/$`)
	// Another user's limits need CAP_SYS_RESOURCE, so the same user sets it.
	limit := exec.Command("setpriv", "--reuid", "65532", "--regid", "65532", "--clear-groups", "prlimit", "--pid", fmt.Sprint(r.cmd.Process.Pid), "--nproc=1:1")
	if out, err := limit.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	client := &http.Client{Timeout: ptest.Patience} // without threads it dies, and may wait for a reader of its last words
	defer client.CloseIdleConnections()
	var clients sync.WaitGroup
	for _, pid := range list {
		clients.Go(func() {
			for _, page := range []string{"wall?seconds=0.3", "goroutine"} {
				a, err := client.Get(fmt.Sprintf("%s/targets/%d/debug/pprof/%s", r.url, pid, page))
				if err != nil {
					t.Error(err)
					return
				}
				body, _ := io.ReadAll(a.Body)
				a.Body.Close()
				if a.StatusCode != 200 {
					t.Errorf("%s: %d %s", page, a.StatusCode, body)
				}
			}
		})
	}
	clients.Wait()
}
