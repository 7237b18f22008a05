package elfsym

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"ptools/internal/patience"
)

// A Cache holds the most recently used Files by identity, so that a library
// that a hundred processes map is read once. Its methods may be called from
// any goroutine.
type Cache struct {
	mu      sync.Mutex
	files   *lru.Cache[identity, *cached]
	refused map[string]error // by path; nil: told
	silent  map[Device]time.Time
	maps    map[inode]*PerfMap
}

// An inode is a file, whatever its contents are.
type inode struct{ dev, ino uint64 }

func inodeOf(info os.FileInfo) (inode, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}, false
	}
	return inode{uint64(st.Dev), st.Ino}, true
}

// PerfMap returns the list of an open file, the same for all that have it open. Each calls release before it closes the
// file.
func (c *Cache) PerfMap(info os.FileInfo) (m *PerfMap, release func()) {
	id, ok := inodeOf(info)
	if !ok {
		return newPerfMap(), func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m = c.maps[id]; m == nil {
		if c.maps == nil {
			c.maps = make(map[inode]*PerfMap)
		}
		m = newPerfMap()
		c.maps[id] = m
	}
	m.users++
	return m, sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if m.users--; m.users == 0 {
			delete(c.maps, id)
		}
	})
}

// A Device is the number of the device that files lie on, as in /proc/PID/maps.
type Device struct{ Major, Minor uint32 }

// silentFor is how long a device that has not answered is not asked again.
const silentFor = 10 * time.Second

// Silence records that a device does not answer.
func (c *Cache) Silence(d Device) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent == nil || len(c.silent) >= maxRefused {
		c.silent = make(map[Device]time.Time)
	}
	c.silent[d] = time.Now()
}

// Silent reports whether a device has not answered in the last seconds. Otherwise each file of each process there would be
// waited for.
func (c *Cache) Silent(d Device) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.silent[d]
	if ok && time.Since(since) > silentFor {
		delete(c.silent, d)
		ok = false
	}
	return ok
}

// identity is equal for two descriptors of the same file with the same
// contents.
type identity struct {
	dev, inode uint64
	size       int64
	mtime      time.Time
}

// cached is a File and what it reads. The first caller of Open reads the
// headers, outside the lock of the cache.
type cached struct {
	once sync.Once
	file *File
	err  error
	held *Patient
	open atomic.Pointer[File] // file, once it is there
}

// NewCache returns a cache of at most limit files. An evicted file stays
// usable for its holders; it is closed when the last of them is gone. All
// files of a program together keep at most a quarter of its descriptors open,
// if files can be mapped (hold).
func NewCache(limit int) *Cache {
	files, err := lru.New[identity, *cached](max(limit, 1))
	if err != nil {
		panic(err) // only for limits below 1
	}
	return &Cache{files: files}
}

// Open returns the File of an open regular file. It takes ownership of file,
// which may be closed on return. The path and src are those of the first Open.
func (c *Cache) Open(file *os.File, path string, src Source) (*File, error) {
	info, err := patience.Do(file.Stat, func(os.FileInfo) {})
	if err != nil {
		file.Close()
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		file.Close()
		return nil, errors.ErrUnsupported
	}
	if !info.Mode().IsRegular() {
		file.Close()
		return nil, &os.PathError{Op: "elfsym", Path: path, Err: ErrFormat}
	}
	id := identity{uint64(st.Dev), st.Ino, info.Size(), info.ModTime().Round(0)}

	e := c.entry(id, file)
	e.once.Do(func() {
		e.file, e.err = New(e.held, id.size, path, src)
		e.open.Store(e.file)
		if e.err != nil {
			e.held.Close()
		}
	})
	return e.file, e.err
}

// entry returns the entry of a file, which it takes ownership of. The file system is asked without the lock.
func (c *Cache) entry(id identity, file *os.File) *cached {
	if e, ok := c.files.Get(id); ok {
		file.Close()
		return e
	}
	mine := &cached{held: hold(file, id.size)}
	c.mu.Lock()
	e, ok := c.files.Get(id)
	if !ok {
		e = mine
		c.files.Add(id, e)
	}
	c.mu.Unlock()
	if ok { // another goroutine has opened it meanwhile
		mine.held.Close()
	}
	return e
}

// Refuse records that a file may not be read, and why.
func (c *Cache) Refuse(path string, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = make(map[string]error)
	}
	if _, known := c.refused[path]; !known && len(c.refused) < maxRefused {
		c.refused[path] = why
	}
}

// maxRefused bounds how many files are told about.
const maxRefused = 1000

// Refused returns why files may not be read, each file once.
func (c *Cache) Refused() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []error
	for _, path := range slices.Sorted(maps.Keys(c.refused)) {
		if err := c.refused[path]; err != nil {
			list, c.refused[path] = append(list, err), nil
		}
	}
	return list
}

// Refuses reports whether the file of a path was refused.
func (c *Cache) Refuses(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, refused := c.refused[path]
	return refused
}

// Len returns the number of files held.
func (c *Cache) Len() int { return c.files.Len() }

// Close forgets all files and closes them. Files that are still in use answer
// only from data that they have read. The cache stays usable.
func (c *Cache) Close() {
	c.mu.Lock()
	held := c.files.Values()
	c.files.Purge()
	c.mu.Unlock()
	for _, e := range held {
		e.once.Do(func() { e.err = os.ErrClosed })
		e.held.Close()
		if e.file != nil {
			e.file.closeDebug()
		}
	}
}
