package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
)

// floorLoop holds connections to etcd members. One thread waits for them all.
type floorLoop struct {
	conns   []*floorConn
	epoll   int
	touched []*floorConn // those that may have something to send
	in      [64 << 10]byte
	ready   [128]unix.EpollEvent
}

// floorConn is a connection with its unsent and incomplete frames.
type floorConn struct {
	fd          int
	stream      uint32 // for the next request
	head, later []byte // header blocks: for the first request and for the others
	out, rest   []byte
	// message takes the payload in each data frame; nil if counting the frames is enough.
	message func(data []byte) error
}

// newFloorLoop returns a loop without connections. It makes waits exact for this thread, to which
// the caller must be locked.
func newFloorLoop() (l floorLoop, err error) {
	// Waits end when they should, not up to 50 us later together with others.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return l, fmt.Errorf("set the timer slack: %w", err)
	}
	l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return l, err
}

// dial opens more connections, to the members in turn, for requests with one method.
func (l *floorLoop) dial(members []string, connections int, method string) error {
	for i := range connections {
		c, err := dialFloor(members[i%len(members)], method)
		if err != nil {
			return fmt.Errorf("connect to %s: %w", members[i%len(members)], err)
		}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(len(l.conns))}); err != nil {
			return err
		}
		l.conns, l.touched = append(l.conns, c), append(l.touched, c)
	}
	return nil
}

// turn flushes connections, waits until some are readable, and reads them. A negative wait has no
// end. For each connection it read, turn calls took with the count of ended streams, and of those
// with an answer.
func (l *floorLoop) turn(wait time.Duration, took func(conn int32, ended, answered int)) error {
	for _, c := range l.touched {
		if err := c.flush(); err != nil {
			return err
		}
	}
	l.touched = l.touched[:0]
	n, err := l.events(wait)
	if err != nil {
		return err
	}
	for _, e := range l.ready[:n] {
		data, err := l.read(e.Fd)
		if err != nil {
			return err
		}
		if len(data) == 0 {
			continue
		}
		ended, answered, err := l.conns[e.Fd].frames(data)
		took(e.Fd, ended, answered)
		if err != nil {
			return err
		}
	}
	return nil
}

// events waits for connections with something to read. Go's scheduler does not know of the wait,
// because it would lend the processor to another thread meanwhile.
func (l *floorLoop) events(wait time.Duration) (int, error) {
	limit := struct{ seconds, nanoseconds int64 }{int64(wait / time.Second), int64(wait % time.Second)}
	until := &limit
	if wait < 0 {
		until = nil
	}
	n, _, failed := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.ready[0])), uintptr(len(l.ready)), uintptr(unsafe.Pointer(until)), 0, 0)
	switch failed {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("wait for connections: %w", failed)
}

// read returns the bytes from a connection: the incomplete frame from the last read, and the new
// bytes.
func (l *floorLoop) read(conn int32) ([]byte, error) {
	c := l.conns[conn]
	l.touched = append(l.touched, c)
	n, err := unix.Read(c.fd, l.in[:])
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return nil, nil
	case err != nil:
		return nil, err
	case n == 0:
		return nil, errors.New("the server closed a connection")
	}
	if len(c.rest) == 0 {
		return l.in[:n], nil
	}
	c.rest = append(c.rest, l.in[:n]...)
	return c.rest, nil
}

// dialFloor opens a connection Go's own poller does not know.
func dialFloor(endpoint, method string) (*floorConn, error) {
	to, err := netip.ParseAddrPort(endpoint)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &floorConn{fd: fd, stream: 1}
	c.head, c.later = floorHeads(endpoint, method)
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return nil, err
	}
	if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), unix.SetNonblock(fd, true)); err != nil {
		return nil, err
	}
	c.out = append(c.out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"...)
	const initialWindow, widest, usual = 4, 1<<31 - 1, 65_535
	c.frame(frameSettings, 0, 0, 6)
	c.out = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(c.out, initialWindow), widest)
	c.frame(frameWindow, 0, 0, 4)
	c.out = binary.BigEndian.AppendUint32(c.out, widest-usual)
	return c, nil
}

// floorHeads returns the header blocks for requests by method: the second has nothing but indexes.
func floorHeads(host, method string) (first, later []byte) {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, block := range []*[]byte{&first, &later} {
		b.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", host},
			{"content-type", "application/grpc"}, {"te", "trailers"}} {
			_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // to a buffer, which cannot fail
		}
		*block = bytes.Clone(b.Bytes())
	}
	return first, later
}

// HTTP/2 frame types and flags.
const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway, frameWindow = 0, 1, 3, 4, 6, 7, 8

	flagEnd, flagAck, flagWholeHead = 1, 1, 4
	frameHead                       = 9
)

// frame appends a frame header to the unsent bytes.
func (c *floorConn) frame(kind, flags byte, stream uint32, size int) {
	c.out = append(c.out, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	c.out = binary.BigEndian.AppendUint32(c.out, stream)
}

// send appends a request to the unsent bytes: a message on a new stream. flagEnd ends the stream on
// the client side.
func (c *floorConn) send(message []byte, flags byte) {
	c.frame(frameHeaders, flagWholeHead, c.stream, len(c.head))
	c.out = append(c.out, c.head...)
	c.frame(frameData, flags, c.stream, len(message))
	c.out = append(c.out, message...)
	c.head = c.later
	c.stream += 2
}

// flush writes the unsent bytes. A partial write is an error.
func (c *floorConn) flush() error {
	if len(c.out) == 0 {
		return nil
	}
	n, err := unix.Write(c.fd, c.out)
	if err == nil && n < len(c.out) {
		err = fmt.Errorf("the socket took %d of %d bytes", n, len(c.out))
	}
	c.out = c.out[:0]
	return err
}

// frames takes the whole frames in data and keeps the rest. It counts the streams that ended, and
// those that had an answer.
func (c *floorConn) frames(data []byte) (ended, answered int, err error) {
	for len(data) >= frameHead {
		size := frameHead + int(data[0])<<16 + int(data[1])<<8 + int(data[2])
		if len(data) < size {
			break
		}
		flags := data[4]
		switch data[3] {
		case frameData:
			answered++
			if c.message != nil {
				if err := c.message(data[frameHead:size]); err != nil {
					return ended, answered, err
				}
			}
		case frameHeaders:
			if flags&flagEnd != 0 {
				ended++
			}
		case frameReset:
			ended++
		case frameSettings:
			if flags&flagAck == 0 {
				c.frame(frameSettings, flagAck, 0, 0)
			}
		case framePing:
			if flags&flagAck == 0 {
				c.frame(framePing, flagAck, 0, size-frameHead)
				c.out = append(c.out, data[frameHead:size]...)
			}
		case frameGoAway:
			return ended, answered, fmt.Errorf("the server ended a connection: %q", data[frameHead:size])
		}
		data = data[size:]
	}
	c.rest = append(c.rest[:0], data...) // data may be a part of it
	return ended, answered, nil
}
