package procfs

import (
	"encoding/binary"
	"fmt"
	"syscall"
)

// The kernel adds up what the threads of a process have done, on a request over
// generic netlink (Documentation/accounting/taskstats.rst, linux/taskstats.h).
// Messages are in the byte order of the machine. Attributes are aligned to 4 bytes.
const (
	netlinkHeader = 16 // struct nlmsghdr
	genericHeader = 4  // struct genlmsghdr
	attrHeader    = 4  // struct nlattr
	netlinkError  = 2  // NLMSG_ERROR

	ctrlFamily     = 16 // GENL_ID_CTRL, the family that knows the others
	ctrlGetFamily  = 3  // CTRL_CMD_GETFAMILY
	ctrlFamilyID   = 1  // CTRL_ATTR_FAMILY_ID
	ctrlFamilyName = 2  // CTRL_ATTR_FAMILY_NAME

	taskstatsGet       = 1 // TASKSTATS_CMD_GET
	taskstatsTGID      = 2 // TASKSTATS_CMD_ATTR_TGID
	taskstatsStats     = 3 // TASKSTATS_TYPE_STATS
	taskstatsAggrTGID  = 5 // TASKSTATS_TYPE_AGGR_TGID
	taskstatsMinLength = 280
)

var netlinkOrder = binary.NativeEndian

// appendRequest appends a generic netlink message with one attribute to b.
func appendRequest(b []byte, family uint16, command byte, attr uint16, value []byte) []byte {
	size := attrHeader + len(value)
	b = netlinkOrder.AppendUint32(b, uint32(netlinkHeader+genericHeader+align4(size)))
	b = netlinkOrder.AppendUint16(b, family)
	b = netlinkOrder.AppendUint16(b, 1) // NLM_F_REQUEST
	b = netlinkOrder.AppendUint32(b, 0) // sequence number: one question at a time
	b = netlinkOrder.AppendUint32(b, 0) // port: the kernel knows
	b = append(b, command, 1, 0, 0)
	b = netlinkOrder.AppendUint16(b, uint16(size))
	b = netlinkOrder.AppendUint16(b, attr)
	b = append(b, value...)
	return append(b, make([]byte, align4(size)-size)...)
}

func align4(n int) int { return (n + 3) &^ 3 }

// parseReply returns the attributes of a reply, or the error that the reply says.
func parseReply(b []byte) ([]byte, error) {
	if len(b) < netlinkHeader+genericHeader {
		return nil, fmt.Errorf("netlink reply of %d bytes", len(b))
	}
	size := int(netlinkOrder.Uint32(b))
	if size < netlinkHeader+genericHeader || size > len(b) {
		return nil, fmt.Errorf("netlink reply of %d bytes says it has %d", len(b), size)
	}
	if netlinkOrder.Uint16(b[4:]) == netlinkError {
		return nil, syscall.Errno(-int32(netlinkOrder.Uint32(b[netlinkHeader:])))
	}
	return b[netlinkHeader+genericHeader : size], nil
}

// attribute returns the value of an attribute in a sequence of them.
func attribute(b []byte, want uint16) (value []byte, ok bool) {
	const typeMask = 0x3fff // without NLA_F_NESTED and NLA_F_NET_BYTEORDER
	for len(b) >= attrHeader {
		size := int(netlinkOrder.Uint16(b))
		if size < attrHeader || size > len(b) {
			return nil, false
		}
		if netlinkOrder.Uint16(b[2:])&typeMask == want {
			return b[attrHeader:size], true
		}
		b = b[min(align4(size), len(b)):]
	}
	return nil, false
}

// parseFamily returns the number of a family in the controller's reply.
func parseFamily(b []byte) (uint16, error) {
	attrs, err := parseReply(b)
	if err != nil {
		return 0, err
	}
	id, ok := attribute(attrs, ctrlFamilyID)
	if !ok || len(id) < 2 {
		return 0, fmt.Errorf("netlink reply without the number of the family")
	}
	return netlinkOrder.Uint16(id), nil
}

// TaskSum is what all threads of a process have done, those that have ended included.
type TaskSum struct {
	SchedStat
	// Yields is how often they have left a processor by themselves, because they had
	// to wait for something. Preemption does not count.
	Yields uint64
}

// parseTaskStats returns the sums in a reply about a process. The fields that are
// needed have been in struct taskstats since Linux 2.6.19.
func parseTaskStats(b []byte) (TaskSum, error) {
	attrs, err := parseReply(b)
	if err != nil {
		return TaskSum{}, err
	}
	aggregate, ok := attribute(attrs, taskstatsAggrTGID)
	stats, ok2 := attribute(aggregate, taskstatsStats)
	if !ok || !ok2 || len(stats) < taskstatsMinLength {
		return TaskSum{}, fmt.Errorf("netlink reply without struct taskstats")
	}
	return TaskSum{
		SchedStat: SchedStat{
			Slices: netlinkOrder.Uint64(stats[16:]), // cpu_count
			Wait:   netlinkOrder.Uint64(stats[24:]), // cpu_delay_total
			Run:    netlinkOrder.Uint64(stats[64:]), // cpu_run_real_total
		},
		Yields: netlinkOrder.Uint64(stats[272:]), // nvcsw
	}, nil
}
