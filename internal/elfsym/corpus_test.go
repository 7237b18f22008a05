package elfsym

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"testing"
)

// survive calls every method of a damaged file. The results do not matter.
func survive(b []byte) {
	if f, err := New(bytes.NewReader(b), int64(len(b)), "/damaged", noSource{}); err == nil {
		ask(f)
	}
}

// TestHostileCorpus damages a small file in every way that a parser has to expect. The file is cut
// off at each length, each word becomes a size or an offset that is too large, and each section is
// put in the place of another, so that tables overlap and refer to themselves.
func TestHostileCorpus(t *testing.T) {
	whole := tinyELF()
	step := 1
	if testing.Short() {
		step = 8
	}
	for n := 0; n < len(whole); n += step {
		survive(whole[:n])
	}
	for _, v := range []uint64{0, 1, 1<<31 - 1, 1 << 32, 1<<63 - 1, 1 << 63, ^uint64(0)} {
		for at := 0; at+8 <= len(whole); at += 4 * step {
			b := bytes.Clone(whole)
			le.PutUint64(b[at:], v)
			survive(b)
			b = bytes.Clone(whole)
			le.PutUint32(b[at:], uint32(v))
			survive(b)
		}
	}
	const headers, count = 0x380, 7
	for i := range count {
		for j := range count {
			b := bytes.Clone(whole)
			copy(b[headers+i*shdrSize+4:headers+(i+1)*shdrSize], whole[headers+j*shdrSize+4:])
			le.PutUint32(b[headers+i*shdrSize+40:], uint32(i)) // its string table is itself
			survive(b)
		}
	}
	if f, err := New(bytes.NewReader(whole), int64(len(whole)), "tiny", nil); err != nil || len(f.ByName("plain")) != 1 {
		t.Errorf("the file that all of these were made of: %v", err)
	}
}

// TestHostileCompression: a section that becomes a thousand times as large costs no more than the
// bytes that are read of it, whatever size it claims.
func TestHostileCompression(t *testing.T) {
	const real = 8 << 20
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	zeros := make([]byte, 1<<20)
	for range real / len(zeros) {
		w.Write(zeros)
	}
	w.Close()
	for _, claimed := range []uint64{real, real + 1, maxLoad + 1, 1 << 62} {
		head := le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, uint64(elf.COMPRESS_ZLIB)), claimed), 1)
		s := section{flags: elf.SHF_COMPRESSED}
		held := newBudget(0)
		z := inflate(&s, memView(append(head, packed.Bytes()...)), held)
		if z == nil {
			t.Fatal("not understood")
		}
		v := view{z: z, size: z.size}
		if b := v.upTo(4096, 100); len(b) != 100 || held.kept.Load() > 1<<20 {
			t.Errorf("claimed %d: %d bytes read, %d held", claimed, len(b), held.kept.Load())
		}
		if got := z.part(0, claimed); (got != nil) != (claimed == real) {
			t.Errorf("claimed %d: the whole is %d bytes", claimed, len(got))
		}
		if held.kept.Load() > maxLoad {
			t.Errorf("claimed %d: %d bytes held", claimed, held.kept.Load())
		}
	}
}
