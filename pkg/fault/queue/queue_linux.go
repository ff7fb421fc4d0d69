package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// The kernel's constants for nfnetlink_queue.
const (
	msgPacket  = unix.NFNL_SUBSYS_QUEUE << 8
	msgVerdict = unix.NFNL_SUBSYS_QUEUE<<8 | 1
	msgConfig  = unix.NFNL_SUBSYS_QUEUE<<8 | 2
	msgBatch   = unix.NFNL_SUBSYS_QUEUE<<8 | 3

	configCommand = 1
	configParams  = 2
	configLength  = 3
	configMask    = 4
	configFlags   = 5
	bind          = 1
	copyPacket    = 2
	segments      = 4 // NFQA_CFG_F_GSO: a packet is as the socket sent it, not as on the wire

	attrHeader  = 1
	attrVerdict = 2
	attrPayload = 10
	attrLength  = 13

	drop   = 0
	accept = 1
)

const (
	// answerTimeout bounds the wait for the kernel.
	answerTimeout = 10 * time.Second
	// most is the number of packets that the kernel may hold, and buffer the number of bytes in
	// messages about them.
	most   = 1 << 20
	buffer = 16 << 20
	// tries bounds the number of attempts with queue numbers that others use.
	tries = 256
	// copied is the number of bytes of a packet in its message: with 0 the message would lack the
	// packet size.
	copied = 1
)

// Queue holds packets until it is closed. It is safe for concurrent use.
type Queue struct {
	link   *netlink.Conn
	number uint16
	began  time.Time
	line   line // the reading goroutine's

	mu    sync.Mutex
	held  []held // ordered by id and by time
	last  uint32 // the id of the packet that came last
	tally tally
	err   error // from the first message that could not be read

	wake chan struct{} // has room for one
	ends chan struct{}
	wg   sync.WaitGroup
}

// held is a waiting packet. Times are since the start of the queue.
type held struct {
	id        uint32
	came, due time.Duration
	bytes     int
}

// Open makes a queue with a number no other process uses here.
func Open(l Line) (*Queue, error) {
	link, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("open a queue of packets: %w", err)
	}
	q := &Queue{link: link, line: line{Line: l}, began: time.Now(), wake: make(chan struct{}, 1), ends: make(chan struct{})}
	if err := q.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("open a queue of packets: %w", err), link.Close())
	}
	q.wg.Go(q.read)
	q.wg.Go(q.pass)
	return q, nil
}

// begin takes the first free number, and has the kernel send messages.
func (q *Queue) begin() error {
	if err := q.link.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	// A message that does not fit into the socket's buffer costs a packet, which the kernel
	// counts.
	if err := errors.Join(q.link.SetReadBuffer(buffer), q.link.SetOption(netlink.NoENOBUFS, true)); err != nil {
		return err
	}
	err := error(unix.EPERM) // as for a number that another process uses
	for n := 0; n < tries && errors.Is(err, unix.EPERM); n++ {
		q.number = uint16(os.Getpid() + n)
		err = q.config(netlink.Attribute{Type: configCommand, Data: []byte{bind, 0, 0, 0}})
	}
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: it needs CAP_NET_ADMIN (root, or a user and network namespace: unshare -rn)", err)
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w: it needs Linux with CONFIG_NETFILTER_NETLINK_QUEUE", err)
	case err != nil:
		return err
	}
	be := binary.BigEndian
	err = q.config(
		netlink.Attribute{Type: configParams, Data: append(be.AppendUint32(nil, copied), copyPacket)},
		netlink.Attribute{Type: configLength, Data: be.AppendUint32(nil, most)},
		netlink.Attribute{Type: configFlags, Data: be.AppendUint32(nil, segments)},
		netlink.Attribute{Type: configMask, Data: be.AppendUint32(nil, segments)},
	)
	return errors.Join(err, q.link.SetDeadline(time.Time{}))
}

// message returns a message to the kernel about this queue.
func (q *Queue) message(kind netlink.HeaderType, flags netlink.HeaderFlags, attributes ...netlink.Attribute) (netlink.Message, error) {
	data, err := netlink.MarshalAttributes(attributes)
	head := binary.BigEndian.AppendUint16([]byte{unix.AF_UNSPEC, unix.NFNETLINK_V0}, q.number)
	return netlink.Message{Header: netlink.Header{Type: kind, Flags: netlink.Request | flags}, Data: append(head, data...)}, err
}

// config changes the queue.
func (q *Queue) config(attributes ...netlink.Attribute) error {
	m, err := q.message(msgConfig, netlink.Acknowledge, attributes...)
	if err == nil {
		_, err = q.link.Execute(m)
	}
	return err
}

// verdict gives the kernel a verdict on the packet with this id, or on all packets up to it.
func (q *Queue) verdict(kind netlink.HeaderType, what, id uint32) {
	be := binary.BigEndian
	m, err := q.message(kind, 0, netlink.Attribute{Type: attrVerdict, Data: be.AppendUint32(be.AppendUint32(nil, what), id)})
	if err == nil {
		_, err = q.link.Send(m)
	}
	if err != nil {
		q.fail(err)
	}
}

// fail records the first error.
func (q *Queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
}

// Number returns the number by which an nftables table sends packets to the queue.
func (q *Queue) Number() uint16 { return q.number }

// now returns the time since the start.
func (q *Queue) now() time.Duration { return time.Since(q.began) }

// read receives packets until the queue is closed.
func (q *Queue) read() {
	for {
		list, err := q.link.Receive()
		select {
		case <-q.ends:
			return
		default:
		}
		switch {
		case errors.Is(err, unix.ENOENT): // the kernel no longer has the packet, for example after its device was removed
			continue
		case err != nil:
			q.fail(err)
			return
		}
		for _, m := range list {
			if m.Header.Type != msgPacket {
				continue
			}
			id, bytes, err := packet(m.Data)
			if err != nil {
				q.fail(err)
				continue
			}
			q.take(id, bytes)
		}
	}
}

// packet parses the message about a packet.
func packet(data []byte) (id uint32, bytes int, err error) {
	const head = 4
	if len(data) < head {
		return 0, 0, errors.New("a message of a packet is too short")
	}
	list, err := netlink.UnmarshalAttributes(data[head:])
	if err != nil {
		return 0, 0, err
	}
	known := false
	for _, a := range list {
		switch {
		case a.Type == attrHeader && len(a.Data) >= 4:
			id, known = binary.BigEndian.Uint32(a.Data), true
		case a.Type == attrPayload:
			bytes = max(bytes, len(a.Data))
		case a.Type == attrLength && len(a.Data) >= 4:
			bytes = int(binary.BigEndian.Uint32(a.Data))
		}
	}
	if !known {
		return 0, 0, errors.New("a message of a packet does not name it")
	}
	return id, bytes, nil
}

// take makes a packet wait, or drops it.
func (q *Queue) take(id uint32, bytes int) {
	now := q.now()
	due, ok := q.line.take(now, bytes)
	q.mu.Lock()
	q.tally.counted.Lost += uint64(id - q.last - 1) // packets whose message found no room
	q.last = id
	if !ok {
		q.tally.counted.Dropped++
		q.mu.Unlock()
		q.verdict(msgVerdict, drop, id)
		return
	}
	q.held = append(q.held, held{id, now, due, bytes})
	first := len(q.held) == 1
	q.mu.Unlock()
	if first {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// pass releases packets when they are due, until the queue is closed.
func (q *Queue) pass() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-q.ends:
			return
		case <-q.wake:
		case <-timer.C:
		}
		if next, any := q.passDue(); any {
			timer.Reset(next)
		}
	}
}

// passDue releases all packets that are due, and returns when the next one is.
func (q *Queue) passDue() (next time.Duration, any bool) {
	q.mu.Lock()
	now, n := q.now(), 0
	for n < len(q.held) && q.held[n].due <= now {
		q.tally.pass(now, q.held[n].came, q.held[n].bytes)
		n++
	}
	var last uint32
	if n > 0 {
		last = q.held[n-1].id
	}
	if q.held = q.held[n:]; len(q.held) > 0 {
		next, any = q.held[0].due-now, true
	} else {
		q.held = nil // otherwise the list would keep its packets in memory
	}
	q.mu.Unlock()
	if n > 0 {
		q.verdict(msgBatch, accept, last)
	}
	return next, any
}

// Counted returns the counts so far. The error says why the queue has failed, if it has.
func (q *Queue) Counted() (Counted, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tally.sums(), q.err
}

// Close releases all packets the queue holds, and then closes it. The caller must no longer send it
// packets. It may be called more than once.
func (q *Queue) Close() error {
	select {
	case <-q.ends:
		return nil
	default:
	}
	q.mu.Lock()
	last := q.last
	q.mu.Unlock()
	// Half of all numbers after the last: this includes packets whose messages were not read.
	q.verdict(msgBatch, accept, last+math.MaxInt32)
	close(q.ends)
	err := q.link.Close()
	q.wg.Wait()
	return err
}
