package handle

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"ptools/internal/elfsym"
	"ptools/internal/mem"
)

const vdsoName = "[vdso]"

// vdsoLinkName is the vDSO's DT_SONAME, the name that the run-time linker and its events use.
const vdsoLinkName = "linux-vdso.so.1"

// maxVDSO bounds how much is copied out of the target; the vDSO has two pages.
const maxVDSO = 1 << 20

// vdso is the kernel's own object as it was read last. It is in no file, so no
// elfsym.Cache has it. All 64-bit processes of a machine have the same vDSO, and
// share what has been looked up in it.
var vdso struct {
	mu    sync.Mutex
	image []byte
	file  *elfsym.File
}

// openVDSO reads the vDSO out of a process.
func openVDSO(pid int, o *object) (*elfsym.File, error) {
	m, err := mem.OpenPatient(pid)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	b := make([]byte, min(o.end-o.start, maxVDSO))
	n, err := m.ReadAt(b, int64(o.start))
	if n == 0 {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	b = b[:n]
	vdso.mu.Lock()
	defer vdso.mu.Unlock()
	if vdso.file != nil && bytes.Equal(b, vdso.image) {
		return vdso.file, nil
	}
	f, err := elfsym.New(bytes.NewReader(b), int64(n), o.path, nil)
	if err == nil {
		vdso.image, vdso.file = b, f
	}
	return f, err
}
