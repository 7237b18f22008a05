package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ptools/internal/ptest"
)

// TestReady: the time that threads wait for a processor is the kernel's figure, with timers and without, and is a part of
// their wall time. The first thread, which reads the figures, does not count.
func TestReady(t *testing.T) {
	spinners := ptest.BuildC(t, "spinners.c")
	for _, timers := range []string{"auto", "off"} {
		for _, n := range []int{2, 8, 50} {
			t.Run(fmt.Sprintf("%s %d", timers, n), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "profile.json")
				said, err := exec.Command(filepath.Join(psampleDir(t), "psample"), "--timers", timers, "-q", "-o", out, "--", spinners, strconv.Itoa(n), "2").Output()
				if err != nil {
					t.Fatal(err)
				}
				want, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				b, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				var p struct {
					Threads []struct {
						PID int `json:"pid"`
						TID int `json:"tid"`
					} `json:"threads"`
					Samples []struct {
						Thread int   `json:"thread"`
						Ready  int64 `json:"ready_ns"`
						Wall   int64 `json:"wall_ns"`
					} `json:"samples"`
				}
				if err := json.Unmarshal(b, &p); err != nil {
					t.Fatal(err)
				}
				var ready, beyond int64
				for _, s := range p.Samples {
					if at := p.Threads[s.Thread]; at.PID == at.TID {
						continue
					}
					ready += s.Ready
					beyond += max(s.Ready-s.Wall, 0)
				}
				if off := ready - want; max(off, -off) > want/100 {
					t.Errorf("ready for %d ns, want %d", ready, want)
				}
				if beyond > want/100 {
					t.Errorf("ready for %d ns more than the wall time of the places", beyond)
				}
			})
		}
	}
}
