package calls

// A TreeSeries tells what is new of a tree, again and again.
type TreeSeries struct{ last map[*Node]*Node }

// Since returns the part of a tree that was added since it was called last. Calls without a stack (NoStack) are those that there are.
func (s *TreeSeries) Since(nodes []*Node) []*Node {
	if s.last == nil {
		s.last = map[*Node]*Node{}
	}
	var added []*Node
	for _, n := range nodes {
		d := *n
		if n.Rest != NoStack { // else the node is made for each reading
			if last := s.last[n]; last != nil {
				d.Stats = Since(&n.Stats, &last.Stats)
				d.Self, d.Unclear = n.Self-last.Self, n.Unclear-last.Unclear
			}
			now := *n
			s.last[n] = &now
		}
		if d.Callees = s.Since(n.Callees); d.Calls > 0 || len(d.Callees) > 0 {
			added = append(added, &d)
		}
	}
	sortNodes(added)
	return added
}
