package push

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// pyroscope calls Push of push.v1.PusherService in the JSON form of the Connect protocol. The message is a list of
// series, each with labels and gzipped pprof profiles. Bytes are base64 in JSON, as encoding/json writes them.
type pyroscope struct{}

const pyroscopePath = "/push.v1.PusherService/Push"

// longestLabel is how many bytes of a label's value servers accept by default.
const longestLabel = 2048

type pushRequest struct {
	Series []series `json:"series"`
}

type series struct {
	Labels  []label  `json:"labels"`
	Samples []sample `json:"samples"`
}

type label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type sample struct {
	RawProfile []byte `json:"rawProfile"`
	ID         string `json:"ID"`
}

func (pyroscope) encode(p *Profile) ([]byte, error) {
	raw, err := compressed(valid(p.Data))
	if err != nil {
		return nil, err
	}
	s := series{
		Labels:  []label{{"__name__", p.Name}},
		Samples: []sample{{RawProfile: raw, ID: newID()}},
	}
	for name, value := range p.Labels {
		if value = cut(value); value != "" {
			s.Labels = append(s.Labels, label{labelName(name), value})
		}
	}
	slices.SortFunc(s.Labels[1:], func(a, b label) int { return strings.Compare(a.Name, b.Name) })
	return json.Marshal(pushRequest{Series: []series{s}})
}

// compressors are reused: making one takes longer than compressing a profile of ten seconds.
var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one of those that there are
	return z
}}

func compressed(p *profile.Profile) ([]byte, error) {
	var out bytes.Buffer
	z := compressors.Get().(*gzip.Writer)
	defer compressors.Put(z)
	z.Reset(&out)
	if err := p.WriteUncompressed(z); err != nil {
		return nil, err
	}
	err := z.Close()
	return out.Bytes(), err
}

func (pyroscope) header() http.Header {
	return http.Header{"Content-Type": {"application/json"}, "Connect-Protocol-Version": {"1"}}
}

// verdict: errors of the server itself may pass, and so may a rate that was too high. A refusal of the request is final.
func (pyroscope) verdict(r *http.Response) error {
	return answered(r, func(status int) bool {
		return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout ||
			status >= 500 && status != http.StatusNotImplemented
	})
}

// newID returns a random UUID, by which the server recognises a request that it gets twice.
func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// labelName makes s a name of letters, digits and underscores that does not begin with a digit.
func labelName(s string) string {
	name := []byte(s)
	for i, c := range name {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (c < '0' || c > '9' || i == 0) {
			name[i] = '_'
		}
	}
	if len(name) == 0 {
		return "_"
	}
	return string(name)
}

// cut makes a value UTF-8 and not too long.
func cut(s string) string {
	s = utf8Text(s)
	if len(s) > longestLabel {
		s = s[:longestLabel]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

// utf8Text returns s with a mark in place of what is not UTF-8. Names come from the files of targets,
// and both protocols refuse a whole message for one such byte.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// valid returns the profile, or a copy of it in which all text is UTF-8.
func valid(p *profile.Profile) *profile.Profile {
	good := true
	texts(p, func(s *string) { good = good && utf8.ValidString(*s) })
	if good {
		return p
	}
	p = p.Copy()
	texts(p, func(s *string) { *s = utf8Text(*s) })
	return p
}

// texts calls f for every string that comes from a target.
func texts(p *profile.Profile, f func(*string)) {
	for _, m := range p.Mapping {
		f(&m.File)
		f(&m.BuildID)
	}
	for _, fn := range p.Function {
		f(&fn.Name)
		f(&fn.SystemName)
		f(&fn.Filename)
	}
	for _, s := range p.Sample {
		for _, values := range s.Label {
			for i := range values {
				f(&values[i])
			}
		}
	}
	for i := range p.Comments {
		f(&p.Comments[i])
	}
}
