package goroutines

// scratch is what is used again for each batch. Memory of it belongs to a batch until the next one.
type scratch struct {
	bufs    [][]byte // g, g again
	windows []byte
	each    []reading
	todo    []int
	gs      []*G
	made    []G
	dst     [][]byte // what is read of each g, and where
	addrs   []uint64
	copies  [][]byte // of each stack, where, and of which
	places  []uint64
	whose   []int
	wished  [][]byte // of each wish, and where
	sought  []uint64
	queued  []wish
	granted []byte // what is left for wishes of this round
	piece   []byte
}

// A budget bounds what is read and kept in one Read: of a program with a million goroutines in deep stacks of their own not all of
// them are known.
type budget struct {
	wide    int // bytes of deep stacks that are read
	frames  int // that are kept
	details int // channels, labels and lines of ancestors that are kept, in bytes
	// ancestors are bytes of them that are read.
	ancestors int
}

var usual = budget{wide: 4 << 30, frames: 4 << 20, details: 64 << 20, ancestors: 1 << 30}

// take takes n of one of the budgets, if there is as much.
func take(left *int, n int) bool {
	if *left < n {
		return false
	}
	*left -= n
	return true
}

// grantPiece is how much memory there is for wishes at first.
const grantPiece = 64 << 10

// memory returns n bytes that are valid until the next round.
func (r *Reader) memory(n int) []byte {
	if len(r.granted) < n {
		r.piece = make([]byte, max(n, grantPiece))
		r.granted = r.piece
	}
	b := r.granted[:n:n]
	r.granted = r.granted[n:]
	return b
}

// buffers returns n buffers of a size.
func buffers(n, size int) [][]byte {
	all, bufs := make([]byte, n*size), make([][]byte, n)
	for i := range bufs {
		bufs[i] = all[i*size : (i+1)*size : (i+1)*size]
	}
	return bufs
}
