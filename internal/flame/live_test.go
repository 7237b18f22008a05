package flame_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"ptools/internal/flame"
)

// growing is a profile at a step of its growth. Later steps have functions that sort before the earlier ones, and the
// last step is complete.
func growing(step int) *flame.Graph {
	g := flame.New()
	g.Title = fmt.Sprintf("step %d", step)
	g.Values = []flame.Value{{Name: "processor", Unit: flame.Nanoseconds}, {Name: "samples"}}
	if step < 3 {
		g.Live = 100 * time.Millisecond
	}
	th := g.Thread(flame.Thread{PID: 1, TID: 1, Name: "one", Process: "p"})
	if step > 1 {
		early := g.Child(0, flame.Frame{Name: "early", Object: "/bin/a"}, nil)
		g.Add(early, g.Thread(flame.Thread{PID: 2, TID: 2, Name: "two", Process: "q"}), []int64{5e9, 50})
	}
	main := g.Child(0, flame.Frame{Name: "main", Object: "/bin/p"}, nil)
	work := g.Child(main, flame.Frame{Name: "work", Object: "/bin/p"}, nil)
	g.Add(work, th, []int64{int64(step) * 1e9, int64(step)})
	g.Add(g.Child(work, flame.Frame{Name: "leaf", Object: "/bin/p"}, nil), th, []int64{1e9, 7})
	if step > 1 {
		g.Span(th, flame.Span{Node: work, From: 0, To: time.Second, State: flame.Running})
	}
	return g
}

// TestLive: the page of a profile that is being taken follows it, keeps what the user has chosen, pauses on
// request, and says when the profile is complete. It requests data from its own server only.
func TestLive(t *testing.T) {
	t.Parallel()
	var step, asked atomic.Int32
	step.Store(1)
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		if err := growing(int(step.Load())).HTML(w); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/data.json", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if err := growing(int(step.Load())).Data(w); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	b := newBrowser(t)
	b.allowed = server.URL + "/data.json"
	b.visit(server.URL + "/")
	live := func(want string) {
		t.Helper()
		b.until(fmt.Sprintf("document.querySelector('#live').textContent === %q", want))
	}
	live("live")
	b.keys("2" + kb.ArrowUp + kb.ArrowUp + kb.ArrowUp + kb.Enter) // zoom to work
	b.enter("#search", "leaf")
	step.Store(2)
	b.until("document.querySelector('#title').textContent === 'step 2'")
	zoomed := `page.flames.name(page.flames.zoom.layer.tree.frame[page.flames.zoom.node])`
	if got := value[string](b, zoomed); got != "work" {
		t.Errorf("zoomed to %s, was to work", got)
	}
	if got := value[int](b, "page.value"); got != 1 {
		t.Errorf("value %d, was 1", got)
	}
	if got := b.text("#matched"); got != "11.86 %" { // 7 of 59
		t.Errorf("%s match", got)
	}
	if value[bool](b, "document.querySelector('#views').lastElementChild.hidden") {
		t.Error("a timeline that came later is not offered")
	}
	b.keys("s")
	if got := value[string](b, "page.flames.name(page.function)"); got != "early" {
		t.Errorf("sandwich of %s", got)
	}
	before := asked.Load()
	b.until(fmt.Sprintf("performance.getEntriesByType('resource').length > %d", before+2))
	if got := value[string](b, "page.flames.name(page.function)"); got != "early" {
		t.Errorf("sandwich of %s, was of early", got)
	}

	b.keys("p")
	live("paused")
	step.Store(3)
	before = asked.Load()
	time.Sleep(400 * time.Millisecond) // four times the interval of its requests when it is not paused
	if got := b.text("#title"); asked.Load() > before+1 || got != "step 2" {
		t.Errorf("paused it has asked %d times and shows %q", asked.Load()-before, got)
	}
	b.keys("p")
	live("complete")
	if got := b.text("#title"); got != "step 3" {
		t.Errorf("%q is complete", got)
	}
	before = asked.Load()
	time.Sleep(300 * time.Millisecond)
	if asked.Load() != before {
		t.Error("it asks for what is complete")
	}
}

// TestLiveGone: without its server a page stays as it is, and says so.
func TestLiveGone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNoContent) // no JSON
			return
		}
		growing(1).HTML(w)
	}))
	defer server.Close()
	b := newBrowser(t)
	b.allowed = server.URL + "/data.json"
	b.visit(server.URL + "/")
	b.until("document.querySelector('#live').textContent === 'gone'")
	if got := value[[][]any](b, tableJS); len(got) != 3 {
		t.Errorf("the table: %v", got)
	}
}

// TestFilesAskForNothing: only a page that is served may make requests.
func TestFilesAskForNothing(t *testing.T) {
	for step, want := range map[int]bool{1: true, 3: false} {
		var b strings.Builder
		if err := growing(step).HTML(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "connect-src"); got != want {
			t.Errorf("step %d: the policy lets it ask: %v", step, got)
		}
	}
}
