package pctl

// PolledFiles describes the descriptors that goroutines of a process wait for: what each is, and which processes have the other ends.
func PolledFiles(p *Process, all []*Goroutine) map[GoPoll]OpenFile {
	q := inquiry{p: p, owners: make(map[int]owner), places: make(map[uint64]lockPlace)}
	files := make(map[GoPoll]*OpenFile)
	for _, g := range all {
		if g.Poll.Known && files[g.Poll] == nil {
			files[g.Poll] = new(OpenFile)
			q.openFile(files[g.Poll], g.Poll.FD, g.Poll.Write, 0)
		}
	}
	q.findPeers()
	told := make(map[GoPoll]OpenFile, len(files))
	for poll, f := range files {
		told[poll] = *f
	}
	return told
}
