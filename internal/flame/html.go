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

//go:embed page/page.js
var pageJS string

// HTML writes the page.
func (g *Graph) HTML(w io.Writer) error {
	data, err := json.Marshal(g.document()) // <, > and & come out as escapes: nothing in it ends the element
	if err != nil {
		return err
	}
	script := strings.Join([]string{"\n'use strict'\n", modelJS, paintJS, tableJS, timelineJS, pageJS}, "\n")
	style := "\n" + pageCSS
	policy := "default-src 'none'; img-src data:; script-src '" + hash(script) + "'; style-src '" + hash(style) +
		"'; base-uri 'none'; form-action 'none'"
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

// hash is how a content security policy names a script or style that it allows.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
