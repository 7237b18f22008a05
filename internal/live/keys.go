package live

import "unicode/utf8"

// Keys with names. Other keys are the text that they send.
const (
	Up       = "\x1b[A"
	Down     = "\x1b[B"
	PageUp   = "\x1b[5~"
	PageDown = "\x1b[6~"
	Home     = "\x1b[H"
	Escape   = "\x1b"
)

// Keys handles what a terminal has sent, and reports whether the user wants to leave. A key must not be split
// between two calls. page is the number of lines on the screen.
func (v *View) Keys(sent string, page int) (quit bool) {
	defer v.arrange()
	for len(sent) > 0 {
		key := sent[:keyLength(sent)]
		sent = sent[len(key):]
		v.note = ""
		switch key {
		case "\x03":
			return true
		case "\x1a":
			v.note = stays
			continue
		}
		if v.typing {
			v.edit(key)
		} else if v.key(key, page) {
			return true
		}
	}
	return false
}

// keyLength returns the length of the first key: a control sequence, or a character.
func keyLength(sent string) int {
	if sent[0] != '\x1b' || len(sent) == 1 || sent[1] != '[' && sent[1] != 'O' {
		_, n := utf8.DecodeRuneInString(sent)
		return n
	}
	for i := 2; i < len(sent); i++ {
		if sent[i] >= '@' && sent[i] <= '~' {
			return i + 1
		}
	}
	return len(sent)
}

// edit applies a key to the search.
func (v *View) edit(key string) {
	switch r, _ := utf8.DecodeRuneInString(key); {
	case key == "\r" || key == "\n":
		v.typing = false
	case key == Escape:
		v.typing, v.Search = false, ""
	case key == "\x7f" || key == "\b":
		_, n := utf8.DecodeLastRuneInString(v.Search)
		v.Search = v.Search[:len(v.Search)-n]
	case r >= ' ' && r != utf8.RuneError:
		v.Search += key
	}
	v.top = 0
}

// key executes a key.
func (v *View) key(key string, page int) (quit bool) {
	switch key {
	case "q":
		return true
	case " ":
		v.Paused = !v.Paused
	case "s":
		v.Order = (v.Order + 1) % Order(len(orderNames))
	case "1", "2", "3":
		v.Order = Order(key[0] - '1')
	case "4":
		v.Order = ByReady
	case "t":
		v.Subject = (v.Subject + 1) % (max(v.Last, Threads) + 1)
		v.top = 0
	case "w":
		v.Waiting = !v.Waiting
	case "/":
		v.typing = true
	case "?", "h":
		v.help = !v.help
	case Escape:
		v.Search, v.help = "", false
	case Up, "\x1bOA":
		v.top--
	case Down, "\x1bOB":
		v.top++
	case PageUp:
		v.top -= page
	case PageDown:
		v.top += page
	case Home, "\x1bOH", "\x1b[1~":
		v.top = 0
	}
	return false
}
