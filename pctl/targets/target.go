package targets

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"

	"ptools/internal/elfsym"
	"ptools/internal/patience"
	"ptools/internal/procfs"
)

// A Target is a process that is profiled, as it was when it was last looked at. A Target does not change. Texts are those
// of the process or the kernel, which may be any bytes.
type Target struct {
	PID    int
	Start  uint64 // when it was started, in ticks since boot: with PID its identity
	Parent int
	Comm   string
	Exe    string // path in its own mount namespace
	Cgroup string
	UID    int
	User   string // its name, or its number

	Container string // id, if the cgroup's path has it
	Pod       string // id of a Kubernetes pod, likewise

	buildID func() string
}

// ID returns the identity of the process, as it stands in addresses.
func (t *Target) ID() string { return fmt.Sprintf("%d-%d", t.PID, t.Start) }

// BuildID returns the build id of the executable, empty if it has none. The file is read once.
func (t *Target) BuildID() string {
	if t.buildID == nil { // one that no Watcher has made
		id, _ := buildID(t.PID) // without the right to read it there is none
		return id
	}
	return t.buildID()
}

// Alive reports whether the process has not ended. If there is no descriptor to find out, Alive reports true.
func (t *Target) Alive() bool {
	stat, err := procfs.ReadStat(t.PID)
	if err != nil {
		return procfs.Lacking(err)
	}
	return stat.StartTime == t.Start && !stat.Ended()
}

// Labels returns the Prometheus label set of the target. Values are UTF-8.
func (t *Target) Labels() map[string]string {
	labels := map[string]string{"pid": strconv.Itoa(t.PID), "comm": t.Comm, "exe": t.Exe, "cgroup": t.Cgroup, "user": t.User}
	for name, value := range map[string]string{"container_id": t.Container, "pod_uid": t.Pod, "build_id": t.BuildID()} {
		labels[name] = value
	}
	for name, value := range labels {
		if labels[name] = strings.ToValidUTF8(value, "\uFFFD"); value == "" {
			delete(labels, name)
		}
	}
	return labels
}

// process is a process that the Watcher has met.
type process struct {
	pid    int
	inode  uint64
	start  uint64
	parent int
	comm   string
	young  int   // it is looked at in each reading of /proc up to this one
	due    bool  // it is to be looked at in any case
	lack   error // why the present look could not read everything: a lack of descriptors

	round  int       // the last one that has listed it
	rule   *compiled // the rule that asks for it
	heir   *compiled // the rule of an ancestor that is to be followed
	target *Target   // nil: no rule asks for it

	known struct { // what the present look has read; read when a rule needs it
		exe, cgroup *string
		uid         *int
	}
}

// executed reports whether the process has another executable than at the last look, if that look read it.
func (p *process) executed() bool {
	if p.known.exe == nil {
		return false
	}
	exe, err := procfs.Exe(p.pid)
	return err == nil && strings.TrimSuffix(exe, " (deleted)") != *p.known.exe
}

// lacking notes an error of the present look, if it is a lack of descriptors.
func (p *process) lacking(err error) {
	if procfs.Lacking(err) {
		p.lack = err
	}
}

func (p *process) exe() string {
	if p.known.exe == nil {
		exe, _ := procfs.Exe(p.pid) // without the right to read it no pattern matches
		exe = strings.TrimSuffix(exe, " (deleted)")
		p.known.exe = &exe
	}
	return *p.known.exe
}

func (p *process) cgroup() string {
	if p.known.cgroup == nil {
		path := ""
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.pid))
		if err == nil {
			path = cgroupOf(string(b))
		}
		p.lacking(err)
		p.known.cgroup = &path
	}
	return *p.known.cgroup
}

func (p *process) user() int {
	if p.known.uid == nil {
		uid := -1
		status, err := procfs.ReadStatus(p.pid)
		if err == nil {
			uid = status.UID[1]
		}
		p.lacking(err)
		p.known.uid = &uid
	}
	return *p.known.uid
}

// describe returns the target of a process: the one from before if nothing has changed.
func (p *process) describe() *Target {
	t := &Target{
		PID: p.pid, Start: p.start, Parent: p.parent, Comm: p.comm, Exe: p.exe(), Cgroup: p.cgroup(), UID: p.user(),
	}
	if old := p.target; old != nil && old.Comm == t.Comm && old.Exe == t.Exe && old.Cgroup == t.Cgroup && old.UID == t.UID {
		return old
	}
	t.User = strconv.Itoa(t.UID)
	u, err := user.LookupId(t.User)
	if err == nil {
		t.User = u.Username
	}
	p.lacking(err)
	t.Container, t.Pod = containerOf(t.Cgroup)
	t.buildID = readOnce(p.pid)
	return t
}

// readOnce returns a function that reads the build id of a process's executable. It reads again only after a
// lack of descriptors.
func readOnce(pid int) func() string {
	var mu sync.Mutex
	var id string
	read := false
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		if !read {
			var err error
			id, err = buildID(pid)
			read = !procfs.Lacking(err)
		}
		return id
	}
}

// buildID reads the build id of a process's executable.
func buildID(pid int) (string, error) {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	f, err := patience.Open(path)
	if err != nil {
		return "", err
	}
	cache := elfsym.NewCache(1)
	defer cache.Close()
	file, err := cache.Open(f, path, nil)
	if err != nil {
		return "", err
	}
	return file.BuildID(), nil
}
