package flame

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the page
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"strings"

	"ptools/internal/clean"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/model.js
var modelJS string

//go:embed page/paint.js
var paintJS string

//go:embed page/table.js
var tableJS string

//go:embed page/timeline.js
var timelineJS string

//go:embed page/live.js
var liveJS string

//go:embed page/state.js
var stateJS string

//go:embed page/page.js
var pageJS string

// HTML writes the page.
func (g *Graph) HTML(w io.Writer) error {
	data, err := g.data()
	if err != nil {
		return err
	}
	script := strings.Join([]string{"\n'use strict'\n", modelJS, paintJS, tableJS, timelineJS, liveJS, stateJS, pageJS}, "\n")
	style := "\n" + pageCSS
	policy := "default-src 'none'; img-src data:; script-src '" + hash(script) + "'; style-src '" + hash(style) +
		"'; base-uri 'none'; form-action 'none'"
	if g.Live != 0 {
		policy += "; connect-src 'self'"
	}
	b := bufio.NewWriter(w)
	strings.NewReplacer(
		"{{policy}}", html.EscapeString(policy),
		"{{title}}", html.EscapeString(g.Title),
		"{{style}}", style,
		"{{data}}", string(data),
		"{{script}}", script,
	).WriteString(b, pageHTML)
	return b.Flush()
}

// Data writes what a page of a graph with Live fetches as data.json: a later state of the profile.
func (g *Graph) Data(w io.Writer) error {
	data, err := g.data()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// data returns the page's JSON. In it <, > and & are escaped, so that nothing in it ends the element
// that holds it.
func (g *Graph) data() ([]byte, error) {
	b, err := json.Marshal(g.document())
	return clean.JSON(b), err
}

// hash returns the name of a script or style in a content security policy that allows it.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
