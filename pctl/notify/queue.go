package notify

// A queue is a list of chunks, so that adding to a long one never copies
// what is there, and what has been read is given back. The zero queue is
// empty.
type queue struct {
	first, last *chunk // nil when empty
	spare       *chunk // one emptied chunk, to be used again
}

type chunk struct {
	events   [32]Event
	from, to int
	next     *chunk
}

func (q *queue) push(e Event) {
	if q.last == nil || q.last.to == len(q.last.events) {
		c := q.spare
		if q.spare = nil; c == nil {
			c = new(chunk)
		}
		if q.last == nil {
			q.first = c
		} else {
			q.last.next = c
		}
		q.last = c
	}
	q.last.events[q.last.to] = e
	q.last.to++
}

func (q *queue) pop() (Event, bool) {
	c := q.first
	if c == nil {
		return Event{}, false
	}
	e := c.events[c.from]
	c.events[c.from] = Event{} // keeps no string alive
	c.from++
	if c.from == c.to {
		if q.first = c.next; q.first == nil {
			q.last = nil
		}
		c.from, c.to, c.next = 0, 0, nil
		q.spare = c
	}
	return e, true
}
