package serve_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ptools/internal/ptest"
	"ptools/pctl/serve"
)

// TestBrowser: the pages for users show the target in headless Chromium, in their own style. Their policy refuses
// nothing, and the console stays empty.
func TestBrowser(t *testing.T) {
	t.Parallel()
	ptest.Need(t, "chromium-headless-shell")
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "1000000", "-u", "800")
	f := newFixture(t, serve.Options{}, nil, g.PID)
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath("chromium-headless-shell"),
		chromedp.NoSandbox, // it refuses to run as root with one
		chromedp.DisableGPU, chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	defer end()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	var mu sync.Mutex
	var said []string
	if err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			said = append(said, fmt.Sprint(e.Args))
		case *runtime.EventExceptionThrown:
			said = append(said, e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			if !strings.Contains(e.Entry.URL, "favicon") {
				said = append(said, e.Entry.Text)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	must := func(_ chromedp.Void, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	value := func(expression string) string {
		t.Helper()
		v, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	must(chromedp.Run(ctx, chromedp.Steps(chromedp.Navigate(f.URL+"/"), chromedp.WaitVisible("tbody tr"))))
	row := value(`document.querySelector("tbody tr").textContent`)
	border := value(`getComputedStyle(document.querySelector("td")).borderBottomStyle`)
	must(chromedp.Run(ctx, chromedp.Steps(chromedp.Click("tbody td a"), chromedp.WaitVisible(`a[href^="profile"]`))))
	entries := value(`document.querySelector("table").textContent`)
	if !strings.Contains(row, "mix") || !strings.Contains(row, fmt.Sprint(g.PID)) || border != "solid" {
		t.Errorf("row %q, border %q", row, border)
	}
	if !strings.Contains(entries, "mutex") || !strings.Contains(entries, "the stack of every thread") {
		t.Errorf("entries %q", entries)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) > 0 {
		t.Errorf("console: %q", said)
	}
	if err := chromedp.Cancel(ctx); err != nil {
		t.Errorf("closing Chromium: %v", err)
	}
}
