// Package usage makes what belongs to a command out of the text that it prints
// for --help: its man page and the completions of shells. So there is one
// source of what the flags are.
package usage

import (
	"regexp"
	"strings"
	"sync"
)

// Page is a help text, taken apart.
type Page struct {
	Name     string
	Synopsis []string
	Intro    []string // paragraphs before the flags
	Flags    []Flag
	Outro    []string // paragraphs after them
	Examples []string // lines
}

// Flag is one flag.
type Flag struct {
	Short string // a letter, or nothing
	Long  string
	Arg   string // what it takes, or nothing
	Text  string
}

// flagLine is a line that begins a flag. It is compiled when it is needed: at each start of a command that would take
// longer than all else.
var flagLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^ {2}(?:-(\w), |    )--([a-z][a-z0-9-]*)(?: (\S+))?(?:  +(.*))?$`)
})

// Parse takes a help text apart. Its first line begins "usage: NAME"; a line of a flag begins with two blanks, and what
// is said of it goes on in lines that are indented further; "examples:" ends the paragraphs.
func Parse(help string) *Page {
	p := &Page{}
	head, body, _ := strings.Cut(help, "\n\n")
	for line := range strings.Lines(strings.TrimPrefix(head, "usage:")) {
		p.Synopsis = append(p.Synopsis, strings.TrimSpace(line))
	}
	p.Name, _, _ = strings.Cut(p.Synopsis[0], " ")
	body, examples, _ := strings.Cut(body, "\nexamples:\n")
	for line := range strings.Lines(examples) {
		p.Examples = append(p.Examples, strings.TrimSuffix(line, "\n"))
	}
	paragraph := ""
	end := func() {
		if paragraph != "" && paragraph != "flags:" {
			if p.Flags == nil {
				p.Intro = append(p.Intro, paragraph)
			} else {
				p.Outro = append(p.Outro, paragraph)
			}
		}
		paragraph = ""
	}
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\n")
		m := flagLine().FindStringSubmatch(line)
		switch {
		case m != nil:
			end()
			p.Flags = append(p.Flags, Flag{m[1], m[2], m[3], m[4]})
		case strings.HasPrefix(line, "        ") && p.Flags != nil && paragraph == "":
			f := &p.Flags[len(p.Flags)-1]
			f.Text = strings.TrimSpace(f.Text + " " + strings.TrimSpace(line))
		case line == "":
			end()
		default:
			paragraph = strings.TrimSpace(paragraph + " " + line)
		}
	}
	end()
	return p
}
