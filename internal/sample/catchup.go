package sample

import (
	"time"

	"ptools/internal/profile"
)

// CatchUp counts the pending samples, so that the profile has all rounds so far. Progress may call it; the final
// profile does not change.
func (s *Sampler) CatchUp() {
	for _, p := range s.processes {
		for _, t := range p.roster.threads {
			if t.view.present {
				p.account.leave(t)
				p.account.put(t, t.view.stack)
			}
		}
	}
	if s.tree != nil {
		for _, k := range s.tree.living {
			s.profile.NameProcess(k.id, k.comm)
		}
	}
}

// SoFar returns a copy of the present profile. Progress may call it. It looks no name up: an address that was just
// met for the first time may have none yet.
func (s *Sampler) SoFar() *profile.Profile {
	s.CatchUp()
	p := s.profile.Clone()
	p.Duration = s.clock.Now() - s.sched.start
	p.Rounds = s.sched.taken
	p.CPU = time.Duration(p.Total().CPU)
	p.Means = s.means(&Cost{})
	return p
}
