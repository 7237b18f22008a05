package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// TestCheck: /check says what works here, as a table and as JSON, and /metrics has the same after its first scrape.
func TestCheck(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, "sleep", "1000")
	r := start(t, "-p", fmt.Sprint(g.PID))
	const metric = "psampled_works{feature=\"grabs of own processes\"} 1\n"
	if _, text := r.get("/metrics"); strings.Contains(text, metric) {
		t.Error("the first scrape waited for a check")
	}
	status, text := r.get("/check")
	if status != http.StatusOK || !strings.Contains(text, "\ngrabs of own processes ") {
		t.Errorf("%d %s", status, text)
	}
	var report struct {
		Features []struct{ Feature, State string }
	}
	if _, text = r.get("/check?format=json"); json.Unmarshal([]byte(text), &report) != nil || len(report.Features) < 10 {
		t.Errorf("%s", text)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, text := r.get("/metrics")
		if strings.Contains(text, metric) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s", metric)
		}
	}
	if _, text := r.get("/"); !strings.Contains(text, `<a href="/check">`) {
		t.Error("the page has no link to the check")
	}
}

// TestCheckFlag: psampled --check is the check of the other tools.
func TestCheckFlag(t *testing.T) {
	_, err := parse([]string{"--check", "--json", "-p", "7"})
	if fmt.Sprintf("%+v", err) != "asked for a check" {
		t.Errorf("%v", err)
	}
	if _, err := parse([]string{"--check", "-q"}); err == nil || !strings.Contains(err.Error(), "--check takes no --quiet") {
		t.Errorf("%v", err)
	}
}
