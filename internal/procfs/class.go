package procfs

import (
	"bytes"
	"debug/elf"
	"io"
	"os"
	"strconv"

	"ptools/internal/patience"
)

// ExeClass reads the ELF class of the program that a process has executed last. It returns
// ELFCLASSNONE where that cannot be read.
func ExeClass(pid int) elf.Class {
	class, err := patience.Do(func() (elf.Class, error) {
		exe, err := os.Open("/proc/" + strconv.Itoa(pid) + "/exe")
		if err != nil {
			return elf.ELFCLASSNONE, err
		}
		defer exe.Close()
		var ident [elf.EI_NIDENT]byte
		if _, err := io.ReadFull(exe, ident[:]); err != nil || !bytes.HasPrefix(ident[:], []byte(elf.ELFMAG)) {
			return elf.ELFCLASSNONE, err
		}
		return elf.Class(ident[elf.EI_CLASS]), nil
	}, func(elf.Class) {})
	if err != nil {
		return elf.ELFCLASSNONE
	}
	return class
}
