package streams

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"
	"unsafe"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// The kernel structures for sock_diag(7), inet_diag_req_v2 and inet_diag_msg, and for tcp(7).
const (
	tcpInfo     = 2 // INET_DIAG_INFO
	established = 1 // TCP_ESTABLISHED

	requestSize = 56
	answerSize  = 72
	// The socket addresses are at the same place in both: ports with 2 bytes each, addresses with
	// 16 bytes each, the interface and a cookie.
	idAt, idSize = 4, 48

	sentAt     = unsafe.Offsetof(unix.TCPInfo{}.Data_segs_out)
	receivedAt = unsafe.Offsetof(unix.TCPInfo{}.Data_segs_in)
	tripAt     = unsafe.Offsetof(unix.TCPInfo{}.Rtt)
	infoSize   = sentAt + 4
)

// connections returns the established connections whose local address is a port, and an address if
// it has one. The kernel walks all its connections for that.
func connections(local netip.AddrPort) (list []connection, err error) {
	link, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, link.Close()) }()
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		if a := local.Addr(); a.IsValid() && a.Is4() != (family == unix.AF_INET) {
			continue
		}
		messages, err := link.Execute(netlink.Message{
			Header: netlink.Header{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: netlink.Request | netlink.Dump},
			Data:   request(family, local.Port()),
		})
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			c, of, err := parse(m.Data)
			if err != nil {
				return nil, err
			}
			if !local.Addr().IsValid() || of == local.Addr() {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// request asks for established connections at a local port.
func request(family uint8, port uint16) []byte {
	data := make([]byte, requestSize)
	data[0], data[1], data[2] = family, unix.IPPROTO_TCP, 1<<(tcpInfo-1)
	binary.NativeEndian.PutUint32(data[4:], 1<<established)
	binary.BigEndian.PutUint16(data[8:], port)
	return data
}

// parse returns a connection and its local address.
func parse(data []byte) (c connection, local netip.Addr, err error) {
	if len(data) < answerSize {
		return c, local, fmt.Errorf("a socket has at least %d bytes, got %d", answerSize, len(data))
	}
	local = netip.AddrFrom16([16]byte(data[idAt+4:]))
	if data[0] == unix.AF_INET {
		local = netip.AddrFrom4([4]byte(data[idAt+4:]))
	}
	c.id = string(data[idAt : idAt+idSize])
	attributes, err := netlink.UnmarshalAttributes(data[answerSize:])
	if err != nil {
		return c, local, fmt.Errorf("attributes of a socket: %w", err)
	}
	for _, a := range attributes {
		if a.Type == tcpInfo && len(a.Data) >= int(infoSize) {
			number := func(at uintptr) uint32 { return binary.NativeEndian.Uint32(a.Data[at:]) }
			c.sent, c.received, c.trip = number(sentAt), number(receivedAt), time.Duration(number(tripAt))*time.Microsecond
		}
	}
	return c, local.Unmap(), nil
}
