package elfsym

import (
	"cmp"
	"path"
	"slices"
	"sort"
	"strings"

	"ptools/internal/cursor"
)

// A lineTable is the result of the line program of one unit (DWARF 5, 6.2).
type lineTable struct {
	seqs  []lineSeq
	rows  []lineRow
	dirs  []string
	files []lineFile
	named []string // full names of files, made when needed
	first int      // number of the first file: 0 in DWARF 5, else 1
	every bool     // rows are kept that have the address of the next one
}

// A lineSeq is a contiguous run of code: rows[from:to].
type lineSeq struct {
	start, end uint64
	from, to   int
}

type lineRow struct {
	addr uint64
	file uint32
	line uint32
}

type lineFile struct {
	name string
	dir  uint64
}

const (
	maxLineProgram = 16 << 20 // bytes
	maxLineRows    = 1 << 20
	maxLineFiles   = 1 << 16
)

// lineHeader is the part of the header that the program needs.
type lineHeader struct {
	version    uint16
	minInst    uint64
	lineBase   int64
	lineRange  uint64
	opcodeBase uint8
	operands   []byte // number of operands of opcodes 1 to opcodeBase-1
}

// readLines reads the line program of u.
func (u *unit) readLines() *lineTable {
	t := &lineTable{}
	u.readLinesTo(t)
	return t
}

// readLinesTo is readLines for a table that is there.
func (u *unit) readLinesTo(t *lineTable) {
	if !u.hasLines {
		return
	}
	head := cursor.Cursor{B: u.d.line.upTo(u.stmtList, 12)}
	n, offSize := head.Length()
	if head.Bad || n > maxLineProgram {
		return
	}
	c := cursor.Cursor{B: u.d.line.upTo(u.stmtList+head.Off, n)}
	if uint64(len(c.B)) < n {
		return
	}
	h := lineHeader{version: c.U16()}
	if h.version < 2 || h.version > 5 {
		return
	}
	if h.version == 5 {
		c.Skip(2) // sizes of addresses and segment selectors
	}
	length := c.Uint(offSize)
	program := c.Off + length
	h.minInst = uint64(c.U8())
	if h.version >= 4 {
		c.Skip(1) // operations per instruction, for VLIW machines
	}
	c.Skip(1) // whether rows are statements by default
	h.lineBase, h.lineRange, h.opcodeBase = int64(int8(c.U8())), uint64(c.U8()), c.U8()
	h.operands = c.Bytes(uint64(max(h.opcodeBase, 1) - 1))
	if c.Bad || h.lineRange == 0 || program > uint64(len(c.B)) {
		return
	}
	if h.version == 5 {
		u.lineFiles5(&c, offSize, t)
	} else {
		u.lineFiles(&c, t)
	}
	run := cursor.Cursor{B: c.B, Off: program}
	h.run(&run, u, t)
	slices.SortFunc(t.seqs, func(a, b lineSeq) int { return cmp.Compare(a.start, b.start) })
	t.rows = slices.Clip(t.rows)
}

// lineFiles reads the directories and files of DWARF 2 to 4. Directory 0 is
// the compilation's, file numbers start at 1.
func (u *unit) lineFiles(c *cursor.Cursor, t *lineTable) {
	t.first = 1
	t.dirs = append(t.dirs, u.compDir)
	for !c.Bad && len(t.dirs) < maxLineFiles {
		s := c.CString(maxName)
		if s == "" {
			break
		}
		t.dirs = append(t.dirs, s)
	}
	for !c.Bad && len(t.files) < maxLineFiles {
		s := c.CString(maxName)
		if s == "" {
			break
		}
		t.files = append(t.files, lineFile{s, c.Uleb()})
		c.Uleb() // time of modification
		c.Uleb() // size
	}
	t.named = make([]string, len(t.files))
}

// maxLineNames bounds the names of one table, in bytes: all may be copies of one.
const maxLineNames = 4 << 20

const (
	lnctPath           = 1
	lnctDirectoryIndex = 2
)

// lineFiles5 reads the directories and files of DWARF 5: two tables that
// describe their columns.
func (u *unit) lineFiles5(c *cursor.Cursor, offSize uint64, t *lineTable) {
	at := *u
	at.offSize = offSize
	at.lineTable(c, func(f lineFile) { t.dirs = append(t.dirs, f.name) })
	at.lineTable(c, func(f lineFile) { t.files = append(t.files, f) })
	t.named = make([]string, len(t.files))
}

func (u *unit) lineTable(c *cursor.Cursor, add func(f lineFile)) {
	var columns [16][2]uint64
	n := int(c.U8())
	if n > len(columns) {
		c.Bad = true
	}
	for i := 0; i < n && !c.Bad; i++ {
		columns[i] = [2]uint64{c.Uleb(), c.Uleb()}
	}
	rows := c.Uleb()
	if n == 0 {
		return
	}
	kept := 0
	for i := uint64(0); i < rows && i < maxLineFiles && !c.Bad && kept < maxLineNames; i++ {
		var f lineFile
		for _, col := range columns[:n] {
			v := u.attr(c, uint32(col[1]), 0)
			switch col[0] {
			case lnctPath:
				f.name = u.str(v)
				kept += len(f.name)
			case lnctDirectoryIndex:
				f.dir = v.v
			}
		}
		if !c.Bad {
			add(f)
		}
	}
}

// find returns the row that covers addr.
func (t *lineTable) find(addr uint64) (lineRow, bool) {
	i := sort.Search(len(t.seqs), func(i int) bool { return t.seqs[i].start > addr })
	for n := 0; n < 4 && i > 0; n++ {
		i--
		s := t.seqs[i]
		if addr >= s.end {
			continue
		}
		rows := t.rows[s.from:s.to]
		if j := sort.Search(len(rows), func(j int) bool { return rows[j].addr > addr }); j > 0 {
			return rows[j-1], true
		}
	}
	return lineRow{}, false
}

// fullName returns the full name of the file at an index of files.
func (t *lineTable) fullName(i uint64) string {
	f := t.files[i]
	if strings.HasPrefix(f.name, "/") || f.dir >= uint64(len(t.dirs)) {
		return f.name
	}
	dir := t.dirs[f.dir]
	if !strings.HasPrefix(dir, "/") && f.dir != 0 {
		dir = path.Join(t.dirs[0], dir)
	}
	return path.Join(dir, f.name)
}

// fileName returns the full name of file n, as far as the unit has it.
func (u *unitTable) fileName(n uint64) string {
	t := u.line
	n -= uint64(t.first) // 0 of DWARF 4 becomes too large
	if n >= uint64(len(t.files)) {
		return ""
	}
	if t.named[n] == "" {
		name := t.fullName(n)
		if !u.unit.d.f.budget.keep(uint64(len(name))) {
			return ""
		}
		t.named[n] = name
	}
	return t.named[n]
}
