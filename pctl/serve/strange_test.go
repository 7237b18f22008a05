package serve

import (
	"net/http"
	"testing"
)

// TestStrange: a page of another site cannot make a browser sample or stop a process. Links to pages that stop nothing work.
func TestStrange(t *testing.T) {
	for _, c := range []struct {
		page, site, mode, dest string
		want                   bool
	}{
		{"profile", "", "", "", false},
		{"goroutine", "", "", "", false},
		{"goroutine", "none", "navigate", "document", false},
		{"goroutine", "same-origin", "cors", "empty", false},
		{"goroutine", "cross-site", "navigate", "document", true},
		{"threadcreate", "same-site", "navigate", "document", true},
		{"goroutine", "cross-site", "no-cors", "image", true},
		{"profile", "cross-site", "no-cors", "image", true},
		{"flame", "cross-site", "navigate", "iframe", true},
		{"flame", "cross-site", "navigate", "document", false},
	} {
		r := &http.Request{Header: http.Header{}}
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if got := pages[c.page].strange(r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
