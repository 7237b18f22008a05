package main

import (
	"math"

	"ptools/pctl"
)

// objectWait is what a thread waits for.
type objectWait struct {
	Kind string `json:"kind"`
	objectLock
	objectFile
	*objectFileLock
	Of    string       `json:"of,omitempty"` // what an event is one of: "epoll fd 7"
	Files []objectFile `json:"files,omitempty"`
	Total int          `json:"files_total,omitempty"`
	Queue *objectQueue `json:"queue,omitempty"`
	Time  int64        `json:"timeout_ns,omitempty"`
	Left  *int64       `json:"left_ns,omitempty"`
	Child int          `json:"child,omitempty"`
	Name  string       `json:"child_name,omitempty"`
	Group int          `json:"child_group,omitempty"` // -1: the process's own
}

// objectLock is the part about a lock that is made of a futex.
type objectLock struct {
	Lock      string `json:"lock,omitempty"` // what kind of lock
	Addr      string `json:"addr,omitempty"`
	Symbol    string `json:"symbol,omitempty"`
	Object    string `json:"object,omitempty"`
	Owner     int    `json:"owner,omitempty"` // tid
	OwnerName string `json:"owner_name,omitempty"`
	Gone      bool   `json:"owner_ended,omitempty"`
	Why       string `json:"owner_unknown,omitempty"`
}

// objectFile is a descriptor. The open of a file has its path only.
type objectFile struct {
	FD     *int         `json:"fd,omitempty"`
	Path   string       `json:"path,omitempty"`
	Fifo   bool         `json:"fifo,omitempty"`
	Write  bool         `json:"write,omitempty"`
	Peers  []objectPeer `json:"peers,omitempty"`
	Socket string       `json:"socket,omitempty"` // its kind
	Local  string       `json:"local,omitempty"`
	Remote string       `json:"remote,omitempty"`
	Others int          `json:"more_peers,omitempty"`
}

type objectPeer struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
}

// objectFileLock is a lock of a file.
type objectFileLock struct {
	Kind      string       `json:"file_lock"` // flock, fcntl or OFD
	Exclusive bool         `json:"exclusive"`
	From      uint64       `json:"from"`
	To        *uint64      `json:"to,omitempty"` // included; absent: to the end
	Holders   []objectPeer `json:"holders,omitempty"`
	Others    int          `json:"more_holders,omitempty"`
	Why       string       `json:"holder_unknown,omitempty"`
}

// objectQueue is a message queue or a set of semaphores of System V.
type objectQueue struct {
	ID         int         `json:"id"`
	Key        uint32      `json:"key,omitempty"`
	Semaphores []int       `json:"semaphores,omitempty"`
	Full       bool        `json:"full,omitempty"`
	Last       *objectPeer `json:"last,omitempty"`
}

func newObjectWait(w pctl.Wait) *objectWait {
	if w.Kind == pctl.WaitNothing {
		return nil
	}
	o := &objectWait{
		Kind: w.Kind.String(), Time: int64(w.Time.Timeout), Child: w.Child.PID, Name: w.Child.Name, Group: w.Child.Group,
		Of: w.Polled.Of, Total: w.Polled.Total,
	}
	if w.Time.Known {
		left := int64(w.Time.Left)
		o.Left = &left
	}
	for _, f := range w.Polled.Files {
		o.Files = append(o.Files, newObjectFile(f))
	}
	switch w.Kind {
	case pctl.WaitLock, pctl.WaitThread, pctl.WaitFutex:
		l := w.Lock
		o.objectLock = objectLock{l.Kind, hex(l.Addr), l.Symbol, l.Object, l.Owner, l.OwnerName, l.Gone, l.Why}
	case pctl.WaitFile, pctl.WaitOpen:
		o.objectFile = newObjectFile(w.File)
	case pctl.WaitFileLock:
		l := w.FileLock
		o.objectFile = newObjectFile(w.File)
		o.objectFileLock = &objectFileLock{l.Kind, l.Write, l.From, nil, objectPeers(l.Holders), l.Others, l.Why}
		if l.To != math.MaxUint64 {
			o.To = &l.To
		}
	case pctl.WaitQueue:
		q := w.Queue
		o.Queue = &objectQueue{ID: q.ID, Key: q.Key, Semaphores: q.Semaphores, Full: q.Full}
		if q.Last.PID != 0 {
			last := objectPeer(q.Last)
			o.Queue.Last = &last
		}
	}
	return o
}

func newObjectFile(f pctl.OpenFile) objectFile {
	o := objectFile{nil, f.Path, f.Fifo, f.Write, objectPeers(f.Peers), f.Socket.Kind, f.Socket.Local, f.Socket.Remote, f.Others}
	if f.FD >= 0 {
		o.FD = &f.FD
	}
	return o
}

func objectPeers(peers []pctl.Peer) (all []objectPeer) {
	for _, p := range peers {
		all = append(all, objectPeer(p))
	}
	return all
}
