package control

import (
	"encoding/binary"
	"strconv"
	"syscall"

	"ptools/internal/patience"
	"ptools/internal/procfs"
)

// withheld returns errWithheld if the program that the target has just executed would have more rights without us.
func withheld(pid int) error {
	exe := "/proc/" + strconv.Itoa(pid) + "/exe"
	var file syscall.Stat_t
	var fs syscall.Statfs_t
	st, err := procfs.ReadStatus(pid)
	_, hung := patience.Do(func() (struct{}, error) {
		if err := syscall.Stat(exe, &file); err != nil {
			return struct{}{}, err
		}
		return struct{}{}, syscall.Statfs(exe, &fs)
	}, func(struct{}) {})
	if err != nil || hung != nil {
		return nil // it has ended, or its file system does not answer
	}
	const noSUID = 2 // ST_NOSUID
	if st.NoNewPrivs || fs.Flags&noSUID != 0 {
		return nil // for another reason
	}
	const setGID = syscall.S_ISGID | syscall.S_IXGRP
	switch {
	case file.Mode&syscall.S_ISUID != 0 && int(file.Uid) != st.UID[1],
		file.Mode&setGID == setGID && int(file.Gid) != st.GID[1],
		fileCaps(exe)&st.CapBnd&^st.CapPrm != 0:
		return errWithheld
	}
	return nil
}

// fileCaps returns the capabilities that a file permits (struct vfs_cap_data).
func fileCaps(path string) uint64 {
	var b [24]byte
	n, err := syscall.Getxattr(path, "security.capability", b[:])
	if err != nil || n < 20 {
		return 0
	}
	return uint64(binary.LittleEndian.Uint32(b[4:])) | uint64(binary.LittleEndian.Uint32(b[12:]))<<32
}
