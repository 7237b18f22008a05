package push

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// request is an encoded profile that waits to be sent.
type request struct {
	body    []byte
	expires time.Time
}

// queue holds requests in the order in which they came. Its bound is for the bytes of all of them, including those
// that are being sent.
type queue struct {
	limit int64

	mu     sync.Mutex
	news   *sync.Cond
	list   []request
	closed bool
	count  Counters
}

func newQueue(limit int) *queue {
	q := &queue{limit: int64(limit)}
	q.news = sync.NewCond(&q.mu)
	return q
}

// put drops the oldest requests while there is no room for r. It is an error if there is never room.
func (q *queue) put(r request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	size := int64(len(r.body))
	switch {
	case q.closed:
		return fmt.Errorf("push: %w", os.ErrClosed)
	case size > q.limit:
		return fmt.Errorf("push: the profile has %d bytes, the queue holds %d", size, q.limit)
	}
	for q.count.Bytes+size > q.limit && len(q.list) > 0 {
		q.count.Overflowed++
		q.leave(q.list[0])
		q.list = q.list[1:]
	}
	if q.count.Bytes+size > q.limit { // requests that are being sent have all the room
		q.count.Overflowed++
		return nil
	}
	q.list = append(q.list, r)
	q.count.Waiting++
	q.count.Bytes += size
	q.news.Signal()
	return nil
}

// take waits for a request. It returns false when the queue is closed and empty.
func (q *queue) take() (request, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.list) == 0 {
		if q.closed {
			return request{}, false
		}
		q.news.Wait()
	}
	r := q.list[0]
	q.list[0] = request{} // the array lives on
	q.list = q.list[1:]
	return r, true
}

// leave removes a request from the counts. q.mu is held.
func (q *queue) leave(r request) {
	q.count.Waiting--
	q.count.Bytes -= int64(len(r.body))
}

// done counts the outcome of a request that was taken.
func (q *queue) done(r request, o outcome) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leave(r)
	switch o {
	case sent:
		q.count.Sent++
		q.count.SentBytes += int64(len(r.body))
		q.count.LastError = ""
	case refused:
		q.count.Refused++
	case expired:
		q.count.Expired++
	}
}

// failed counts a failed try.
func (q *queue) failed(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count.Failures++
	q.count.LastError = err.Error()
}

func (q *queue) counters() Counters {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.count
}

// close refuses further requests, and returns how many have expired so far.
func (q *queue) close() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.news.Broadcast()
	return q.count.Expired
}

// discard drops what is left and returns how many have expired in all.
func (q *queue) discard() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.list {
		q.count.Expired++
		q.leave(r)
	}
	q.list = nil
	return q.count.Expired
}
