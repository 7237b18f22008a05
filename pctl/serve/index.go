package serve

import (
	"cmp"
	_ "embed" // the style
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"ptools/internal/clean"
	"ptools/internal/procfs"
	"ptools/pctl/targets"
)

//go:embed page/index.html
var indexHTML string

//go:embed page/target.html
var targetHTML string

//go:embed page/sampling.html
var samplingHTML string

//go:embed page/style.css
var styleCSS string

var (
	indexTemplate  = template.Must(template.New("index").Parse(indexHTML))
	targetTemplate = template.Must(template.New("target").Parse(targetHTML))

	samplingTemplate = template.Must(template.New("sampling").Parse(samplingHTML))
)

// row is a target on the page.
type row struct {
	ID, PID, Comm, Args, Exe, User string
	Where, Cgroup                  string
	Use                            float64 // of one processor, in percent
	UseText                        string
}

// index shows every target and its present use of processors.
func (s *Server) index(w http.ResponseWriter, r *http.Request) {
	list := s.o.Targets.Targets()
	const between = 200 * time.Millisecond
	before := make([]uint64, len(list))
	for i, t := range list {
		before[i] = ticksOf(t)
	}
	select {
	case <-time.After(between):
	case <-r.Context().Done():
		return
	}
	var rows []row
	for i, t := range list {
		use := float64(ticksOf(t)-before[i]) / 100 / between.Seconds() * 100 // a tick is 10 ms
		if use < 0 || use > 1e6 {
			use = 0 // it has ended
		}
		rows = append(rows, row{
			ID: t.ID(), PID: fmt.Sprint(t.PID), Comm: clean.Text(t.Comm), Args: clean.Text(arguments(t)), Exe: clean.Text(t.Exe), User: clean.Text(t.User),
			Where: clean.Text(cmp.Or(t.Pod, short(t.Container), path.Base(t.Cgroup))), Cgroup: clean.Text(t.Cgroup), Use: use, UseText: fmt.Sprintf("%.0f %%", use),
		})
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.Use, a.Use) })
	how := "Timers of the processors sample; no thread is stopped."
	if why := s.o.Sampler.Stops(); why != nil {
		how = "Threads that run are stopped for some microseconds for each sample: " + clean.Text(why.Error()) + "."
	}
	host, _ := os.Hostname() // without it the page has no name
	s.render(w, indexTemplate, map[string]any{
		"Host": clean.Text(host), "Rows": rows, "How": how, "Rate": fmt.Sprintf("%.0f", 1/s.o.Sampler.Period().Seconds()),
		"Up": time.Since(s.began).Round(time.Second), "Clients": s.clients.Load(), "Added": s.added,
	})
}

// ticksOf is the processor time that a target has used.
func ticksOf(t *targets.Target) uint64 {
	stat, err := procfs.ReadStat(t.PID)
	if err != nil || stat.StartTime != t.Start {
		return 0
	}
	return stat.UTime + stat.STime
}

// short is the beginning of a container's id, which users know it by.
func short(id string) string { return id[:min(len(id), 12)] }

// entry is one page of a target.
type entry struct{ Name, Link, About string }

// pprofIndex lists the pages of a target.
func (s *Server) pprofIndex(q *query) (*answer, error) {
	var entries []entry
	for name, p := range pages {
		if p.about == "" {
			continue
		}
		entries = append(entries, entry{name, link(name, p), p.about})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	a := &answer{kind: htmlKind}
	t := q.target
	return a, targetTemplate.Execute(&a.body, map[string]any{
		"PID": t.PID, "Comm": clean.Text(t.Comm), "Exe": clean.Text(t.Exe), "Entries": entries, "Labels": cleaned(t.Labels()),
	})
}

// sampling says that a flame graph is on its way, and leads to it. Browsers show this page until the other one is there.
func (s *Server) sampling(q *query) (*answer, error) {
	a := &answer{kind: htmlKind}
	return a, samplingTemplate.Execute(&a.body, map[string]any{
		"PID": q.target.PID, "Comm": clean.Text(q.target.Comm), "Seconds": q.seconds.Seconds(),
	})
}

// link is the address of a page, with the parameters that suit a browser.
func link(name string, p *page) string {
	q := make(url.Values)
	if p.texts {
		q.Set("debug", "1")
	}
	if p.seconds > 0 {
		q.Set("seconds", "10")
	}
	return (&url.URL{Path: name, RawQuery: q.Encode()}).String()
}

func cleaned(labels map[string]string) map[string]string {
	for name, value := range labels {
		labels[name] = clean.Text(value)
	}
	return labels
}

func (s *Server) render(w http.ResponseWriter, t *template.Template, data any) {
	a := &answer{kind: textKind}
	if err := t.Execute(&a.body, data); err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	w.Header().Set("Content-Type", htmlKind)
	s.patient(w)
	w.Write(a.body.Bytes()) // a client that has gone needs no answer
}

func (s *Server) style(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	s.patient(w)
	fmt.Fprint(w, styleCSS)
}

// group is an entry of Prometheus' HTTP service discovery.
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// discovery lists the targets for Prometheus' HTTP service discovery. All have the address that the client has used, and
// each has its own path in __profile_path_prefix__.
func (s *Server) discovery(w http.ResponseWriter, r *http.Request) {
	groups := []group{}
	for _, t := range s.o.Targets.Targets() {
		labels := t.Labels()
		labels["__profile_path_prefix__"] = "/targets/" + t.ID()
		if r.TLS != nil {
			labels["__scheme__"] = "https"
		}
		groups = append(groups, group{[]string{r.Host}, labels})
	}
	b, err := json.Marshal(groups)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "%v", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	s.patient(w)
	w.Write(b) // a client that has gone needs no answer
}
