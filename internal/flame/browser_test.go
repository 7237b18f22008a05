package flame_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ptools/internal/ptest"
)

// browser is a page in headless Chromium, without a network.
type browser struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	messages []string // of the console, and exceptions
	requests []string // requests for anything but the file
	allowed  string   // a request that the page may make
}

// open starts Chromium and opens what write writes, as a file. When the test ends, the page's console must be
// empty, and the page must have made no request.
func open(t testing.TB, write func(io.Writer) error) *browser {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	b.visit("file://" + file)
	return b
}

func newBrowser(t testing.TB) *browser {
	ptest.Need(t, "chromium-headless-shell")
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath("chromium-headless-shell"),
		chromedp.NoSandbox, // it refuses to run as root with one
		chromedp.DisableGPU,
		chromedp.WindowSize(1400, 850),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.UserDataDir(t.TempDir()),
	)
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(ctx)
	b := &browser{t: t, ctx: ctx}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("closing Chromium: %v", err)
		}
		stop()
		end()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, m := range b.messages {
			t.Errorf("console: %s", m)
		}
		for _, r := range b.requests {
			t.Errorf("requested %s", r)
		}
	})
	if err := chromedp.Listen(ctx, b.notice); err != nil {
		t.Fatal(err)
	}
	return b
}

// notice records what a page must not do.
func (b *browser) notice(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			b.messages = append(b.messages, fmt.Sprint(e.Type, " ", arg.Description, string(arg.Value)))
		}
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case *log.EventEntryAdded:
		b.messages = append(b.messages, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; url != b.allowed && e.Type != network.ResourceTypeDocument && !strings.HasPrefix(url, "data:") {
			b.requests = append(b.requests, url)
		}
	}
}

// visit opens a page and waits until it has drawn something.
func (b *browser) visit(url string) {
	b.t.Helper()
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	b.do(chromedp.Navigate(url))
	b.until("performance.getEntriesByName('drawn').length > 0")
}

// call makes a call of the browser's protocol, and ask returns its answer.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	ask(b, command, params)
}

func ask[P, R any](b *browser, command cdp.Command[P, R], params P) (answer R) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		answer, err = cdp.Call(ctx, t, command, params)
		return err
	}))
	return answer
}

// cpu returns how many milliseconds of processor time the page's main thread has used, which does not depend on
// other load of the machine.
func (b *browser) cpu() float64 {
	b.t.Helper()
	for _, m := range ask(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "TaskDuration" {
			return 1000 * m.Value
		}
	}
	b.t.Fatal("Chromium does not say what the page has used")
	return 0
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	run(b, chromedp.Steps(actions...))
}

func run[T any](b *browser, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// until waits for a condition, an expression in the page. It is tried at each frame.
func (b *browser) until(condition string) {
	b.t.Helper()
	run(b, chromedp.Poll[bool](condition))
}

// value returns the value of an expression in the page.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression))
}

// text returns the text of an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return value[string](b, fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

// keys presses keys on the flame graph.
func (b *browser) keys(keys string) {
	b.t.Helper()
	b.enter("#flames", keys)
}

// shot keeps a picture if PTOOLS_SHOTS names a directory.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("PTOOLS_SHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), run(b, chromedp.CaptureScreenshot()), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// dark makes the system prefer dark colours.
func (b *browser) dark() {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
	})
}

// enter types into an element.
func (b *browser) enter(selector, keys string) {
	b.t.Helper()
	value[any](b, fmt.Sprintf("document.querySelector(%q).focus()", selector))
	b.do(chromedp.KeyEvent(keys))
}

// click clicks into an element, at an offset from its left upper corner. A negative offset counts from its
// end.
func (b *browser) click(selector string, x, y float64) {
	b.t.Helper()
	box := value[[]float64](b, fmt.Sprintf("(r => [r.x, r.y, r.width, r.height])(document.querySelector(%q).getBoundingClientRect())", selector))
	if x < 0 {
		x += box[2]
	}
	if y < 0 {
		y += box[3]
	}
	b.do(chromedp.MouseClickXY(box[0]+x, box[1]+y))
}

// move moves the mouse over an element.
func (b *browser) move(selector string, x, y float64) {
	b.t.Helper()
	box := value[[]float64](b, fmt.Sprintf("(r => [r.x, r.y])(document.querySelector(%q).getBoundingClientRect())", selector))
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, box[0]+x, box[1]+y))
}
