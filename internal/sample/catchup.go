package sample

// CatchUp counts the samples that are under way, so that the profile has all of the rounds so far. Progress may call
// it; what the profile has in the end does not change.
func (s *Sampler) CatchUp() {
	for _, p := range s.processes {
		for _, t := range p.roster.threads {
			if t.view.present {
				p.account.leave(t)
				p.account.put(t, t.view.stack)
			}
		}
	}
}
