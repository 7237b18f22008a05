package targets

import (
	"regexp"
	"strings"
)

// cgroupOf returns the path in /proc/PID/cgroup: that of the unified hierarchy, or else the longest of the others
// (cgroups(7)).
func cgroupOf(text string) (path string) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[0] == "0" && parts[2] != "/" {
			return parts[2]
		}
		if len(parts[2]) > len(path) {
			path = parts[2]
		}
	}
	return path
}

var (
	// containerID matches the last part of the path of a container's cgroup: its id, which runtimes put between a
	// prefix and ".scope".
	containerID = regexp.MustCompile(`(?:^|[/-])([0-9a-f]{64})(?:\.scope)?(?:/|$)`)
	// podUID matches the part for the pod. systemd's names have underscores for the dashes of a UID.
	podUID = regexp.MustCompile(`(?:^|[/-])pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?:/|$)`)
)

// containerOf finds the ids of the container and the pod in the path of a cgroup. An id that the path does not have
// is empty.
func containerOf(cgroup string) (container, pod string) {
	if m := containerID.FindAllStringSubmatch(cgroup, -1); m != nil {
		container = m[len(m)-1][1]
	}
	if m := podUID.FindStringSubmatch(cgroup); m != nil {
		pod = strings.ReplaceAll(m[1], "_", "-")
	}
	return container, pod
}
