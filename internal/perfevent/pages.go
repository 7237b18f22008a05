package perfevent

// MostPages is how many pages beyond its stack a sample can have.
const MostPages = 6

// PageSize is the size of such a page, on every machine.
const PageSize = 4096

// A Pages is memory that was copied in the interrupt of a sample. The page at Addrs[i] is Data[i*PageSize:].
type Pages struct {
	Addrs []uint64
	Data  []byte
}

// Set copies p.
func (p *Pages) Set(from *Pages) {
	p.Addrs, p.Data = append(p.Addrs[:0], from.Addrs...), append(p.Data[:0], from.Data...)
}

// Reset makes p empty.
func (p *Pages) Reset() { p.Addrs, p.Data = p.Addrs[:0], p.Data[:0] }

// Add adds a page.
func (p *Pages) Add(addr uint64, data []byte) {
	p.Addrs, p.Data = append(p.Addrs, addr), append(p.Data, data[:PageSize]...)
}

// Page returns the page at an address; nil if it was not copied.
func (p *Pages) Page(addr uint64) []byte {
	for i, a := range p.Addrs {
		if a == addr {
			return p.Data[i*PageSize:][:PageSize]
		}
	}
	return nil
}
