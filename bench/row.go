package main

// row is one comparison.
type row struct {
	Name   string   `json:"name"`
	Unit   unit     `json:"unit"`
	Note   string   `json:"note,omitempty"` // what a reader must know about the numbers, or why there are none
	Series []series `json:"series,omitempty"`
	Goals  []goal   `json:"goals,omitempty"`
}

// goal is a bound for a number of ours.
type goal struct {
	// Tool is our tool that is judged; empty: the first.
	Tool string `json:"tool,omitempty"`
	// Peers are the tools of which the best is compared; without any our number itself is judged.
	Peers []string `json:"peers,omitempty"`
	// AtLeast or AtMost bounds the ratio of our median to that of the best peer.
	AtLeast float64 `json:"at_least,omitempty"`
	AtMost  float64 `json:"at_most,omitempty"`
	// None demands exactly zero, which the other bounds cannot express.
	None bool `json:"none,omitempty"`
}

// verdict is the comparison of a goal with the measurements.
type verdict struct {
	Peer    string  // the best of the peers
	Theirs  float64 // its median
	Ours    float64
	Ratio   float64 // ours to theirs; ours itself if there are no peers
	Reached bool
	Known   bool // whether both sides were measured
}

// find returns the series of a tool, or nil.
func (r *row) find(tool string) *series {
	for i := range r.Series {
		if r.Series[i].Tool == tool && len(r.Series[i].Values) > 0 {
			return &r.Series[i]
		}
	}
	return nil
}

// ours returns the series of ours that a goal judges, or nil.
func (r *row) ours(g goal) *series {
	if g.Tool != "" {
		return r.find(g.Tool)
	}
	for i := range r.Series {
		if r.Series[i].Role == ours && len(r.Series[i].Values) > 0 {
			return &r.Series[i]
		}
	}
	return nil
}

// judge compares a goal with the measurements.
func (r *row) judge(g goal) (v verdict) {
	mine := r.ours(g)
	if mine == nil {
		return v
	}
	v.Ours = median(mine.Values)
	if len(g.Peers) == 0 {
		v.Ratio, v.Known = v.Ours, true
	}
	for _, tool := range g.Peers {
		s := r.find(tool)
		if s == nil {
			continue
		}
		m := median(s.Values)
		better := m > v.Theirs
		if g.AtMost > 0 {
			better = m < v.Theirs
		}
		if v.Peer == "" || better {
			v.Peer, v.Theirs = tool, m
		}
	}
	if v.Theirs > 0 {
		v.Ratio, v.Known = v.Ours/v.Theirs, true
	}
	v.Reached = v.Known && g.holds(v.Ratio)
	return v
}

func (g goal) holds(ratio float64) bool {
	switch {
	case g.None:
		return ratio == 0
	case g.AtLeast > 0:
		return ratio >= g.AtLeast
	case g.AtMost > 0:
		return ratio <= g.AtMost
	}
	return true
}
