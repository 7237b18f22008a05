package procfs

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
)

// KernelSymbols are the functions of the running kernel and its modules.
type KernelSymbols struct {
	addrs []uint64
	names []string
}

// errNoAddresses is the error where kernel.kptr_restrict, or the lack of CAP_SYSLOG, hides the addresses in the list.
var errNoAddresses = fmt.Errorf("/proc/kallsyms shows no addresses: %w", fs.ErrPermission)

// ReadKernelSymbols reads /proc/kallsyms. It fails where that hides the addresses.
func ReadKernelSymbols() (*KernelSymbols, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseKallsyms(f)
}

// KernelSymbolsShown returns the error of ReadKernelSymbols. It reads up to the first address that is shown.
func KernelSymbolsShown() error {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if addr, _ := kernelText(lines.Bytes()); addr != 0 {
			return nil
		}
	}
	return cmp.Or(lines.Err(), errNoAddresses)
}

// kernelText returns the address and the name of a line about a symbol of text; 0 for any other line.
func kernelText(line []byte) (addr uint64, name []byte) {
	field := bytes.Fields(line)
	if len(field) < 3 || len(field[1]) != 1 || !bytes.ContainsAny(field[1], "tTwW") {
		return 0, nil
	}
	addr, err := strconv.ParseUint(string(field[0]), 16, 64)
	if err != nil {
		return 0, nil
	}
	return addr, field[2]
}

// parseKallsyms reads lines of an address, a type and a name. Lines of modules' symbols have the
// module too. Only symbols of text are kept.
func parseKallsyms(r io.Reader) (*KernelSymbols, error) {
	type symbol struct {
		addr uint64
		name string
	}
	var all []symbol
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if addr, name := kernelText(lines.Bytes()); addr != 0 {
			all = append(all, symbol{addr, string(name)})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNoAddresses
	}
	slices.SortStableFunc(all, func(a, b symbol) int {
		if a.addr < b.addr {
			return -1
		} else if a.addr > b.addr {
			return 1
		}
		return 0
	})
	k := new(KernelSymbols)
	for _, s := range all {
		if n := len(k.addrs); n > 0 && k.addrs[n-1] == s.addr {
			continue // another name of the same
		}
		k.addrs, k.names = append(k.addrs, s.addr), append(k.names, s.name)
	}
	return k, nil
}

// Name returns the function that contains an address, "[unknown]" if the address is before all functions.
func (k *KernelSymbols) Name(addr uint64) string {
	i, ok := slices.BinarySearch(k.addrs, addr)
	if !ok {
		i--
	}
	if i < 0 {
		return "[unknown]"
	}
	return k.names[i]
}
