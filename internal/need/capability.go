package need

import "strings"

// A Capability is the number of a capability (capabilities(7)).
type Capability uint8

// Capabilities that features take.
const (
	DACOverride       Capability = 1
	DACReadSearch     Capability = 2
	NetAdmin          Capability = 12
	SysPtrace         Capability = 19
	SysAdmin          Capability = 21
	SysNice           Capability = 23
	Syslog            Capability = 34
	Perfmon           Capability = 38 // Linux 5.8
	BPF               Capability = 39 // Linux 5.8
	CheckpointRestore Capability = 40 // Linux 5.9
)

// capabilityNames are the names of capabilities(7) by number, without CAP_.
var capabilityNames = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

// String returns the name of capabilities(7).
func (c Capability) String() string { return "CAP_" + capabilityNames[c] }

// Capabilities returns the effective capabilities of this program: all, none, their names, or the names of the few that
// are missing.
func (h *Here) Capabilities() string {
	var has, lacks []string
	for i := range min(h.LastCap+1, len(capabilityNames)) {
		if c := Capability(i); h.has(c) {
			has = append(has, c.String())
		} else {
			lacks = append(lacks, c.String())
		}
	}
	switch {
	case len(has) == 0:
		return "none"
	case len(lacks) == 0:
		return "all"
	case len(lacks) < len(has):
		return "all but " + strings.Join(lacks, " ")
	}
	return strings.Join(has, " ")
}
