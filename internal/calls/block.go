package calls

// codeBlock is how much code is read at once. A program has thousands of functions, and each read is a system call.
const codeBlock = 64 << 10

// blocks reads code that is asked for in the order of addresses.
type blocks struct {
	Code
	at   uint64 // address of data
	data []byte
}

func (c *blocks) ReadAddr(b []byte, addr uint64) bool {
	if len(b) > codeBlock {
		return c.Code.ReadAddr(b, addr)
	}
	if addr < c.at || addr-c.at > uint64(len(c.data)) || uint64(len(b)) > uint64(len(c.data))-(addr-c.at) {
		if cap(c.data) == 0 {
			c.data = make([]byte, codeBlock)
		}
		c.at, c.data = addr, c.data[:codeBlock]
		if !c.Code.ReadAddr(c.data, addr) { // the segment ends before
			c.data = c.data[:0]
			return c.Code.ReadAddr(b, addr)
		}
	}
	copy(b, c.data[addr-c.at:])
	return true
}
