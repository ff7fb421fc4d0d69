package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
)

// putFloor puts to etcd with the least that a client can do: one thread waits for all connections, a
// request is bytes that were encoded once but for its key and its stream, and of an answer only its
// end is read. It answers PINGs at once, and there is no request that it would leave out, but it has
// no records, no deadlines and no windows: of a connection, 64 KiB at most may be in flight.
type putFloor struct {
	conns    []*floorConn
	epoll    int
	requests int64
	interval time.Duration // from one due request to the next; 0 for a closed loop
	began    time.Time

	// idle is a ring of connections, each once for each of its clients that waits.
	idle          []int32
	first, number int

	touched               []*floorConn // those that may have something to send
	sent, ended, answered int64
	request               floorRequest
	in                    [64 << 10]byte
}

// floorConn is a connection and what is not sent or not read of it.
type floorConn struct {
	fd          int
	stream      uint32 // of the next request
	head, later []byte // header blocks: of the first request and of the others
	out, rest   []byte
}

// floorPut runs the floor until all requests were answered.
func floorPut(args []string) error {
	flags := flag.NewFlagSet("floor-put", flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "")
	requests := flags.Int64("requests", 0, "")
	clients := flags.Int("clients", 0, "")
	connections := flags.Int("connections", 0, "")
	rate := flags.Int("rate", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	const most = 30 // requests of a connection at once, within its window
	if *connections < 1 || *clients < *connections || *clients > most**connections {
		return fmt.Errorf("the floor must have 1 to %d clients on each connection, got %d on %d", most, *clients, *connections)
	}
	f := &putFloor{requests: *requests, idle: make([]int32, *clients), request: newFloorRequest()}
	if *rate > 0 {
		f.interval = time.Second / time.Duration(*rate)
	}
	runtime.LockOSThread()
	// Waits end when they should, not up to 50 us later together with others.
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set the timer slack: %w", err)
	}
	if err := f.dial(strings.Split(*endpoints, ","), *connections, *clients); err != nil {
		return err
	}
	if err := f.run(); err != nil {
		return err
	}
	if failed := f.ended - f.answered; failed > *requests/100 {
		return fmt.Errorf("%d of %d requests failed", failed, *requests)
	}
	return nil
}

// dial opens the connections, and lets all clients wait.
func (f *putFloor) dial(members []string, connections, clients int) (err error) {
	if f.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	for i := range connections {
		c, err := dialFloor(members[i%len(members)])
		if err != nil {
			return fmt.Errorf("connect to %s: %w", members[i%len(members)], err)
		}
		f.conns, f.touched = append(f.conns, c), append(f.touched, c)
		if err := unix.EpollCtl(f.epoll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			return err
		}
	}
	for n := range clients {
		f.wait(int32(n % connections))
	}
	return nil
}

// dialFloor opens a connection that Go's own poller does not know.
func dialFloor(endpoint string) (*floorConn, error) {
	to, err := netip.ParseAddrPort(endpoint)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	c := &floorConn{fd: fd, stream: 1}
	c.head, c.later = floorHeads(endpoint)
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

// floorHeads are the header blocks of puts: the second has nothing but indexes.
func floorHeads(host string) (first, later []byte) {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, block := range []*[]byte{&first, &later} {
		b.Reset()
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/etcdserverpb.KV/Put"}, {":authority", host},
			{"content-type", "application/grpc"}, {"te", "trailers"}} {
			_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // to a buffer, which can't fail
		}
		*block = bytes.Clone(b.Bytes())
	}
	return first, later
}

// Frames of HTTP/2, and flags of them.
const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway, frameWindow = 0, 1, 3, 4, 6, 7, 8

	flagEnd, flagAck, flagWholeHead = 1, 1, 4
	frameHead                       = 9
)

// frame appends the head of a frame to what is sent.
func (c *floorConn) frame(kind, flags byte, stream uint32, size int) {
	c.out = append(c.out, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	c.out = binary.BigEndian.AppendUint32(c.out, stream)
}

// floorRequest is the message of a put, whose key changes.
type floorRequest struct {
	message []byte
	key     int // where the key begins
}

const floorKey, floorValue = 256, 1024

func newFloorRequest() floorRequest {
	var body []byte
	body = binary.AppendUvarint(append(body, 0x0a), floorKey)
	at := len(body)
	body = append(body, strings.Repeat("0", floorKey)...)
	body = binary.AppendUvarint(append(body, 0x12), floorValue)
	body = append(body, strings.Repeat("v", floorValue)...)
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	return floorRequest{message, len(message) - len(body) + at}
}

// number writes the number of a request into the end of its key.
func (r floorRequest) number(n int64) {
	for i := r.key + floorKey - 1; n > 0; i-- {
		r.message[i] = '0' + byte(n%10)
		n /= 10
	}
}

// wait makes a client of a connection wait for its next request.
func (f *putFloor) wait(conn int32) {
	f.idle[(f.first+f.number)%len(f.idle)] = conn
	f.number++
}

// run sends requests and takes answers until all have ended.
func (f *putFloor) run() error {
	events := make([]unix.EpollEvent, 128)
	f.began = time.Now()
	for f.ended < f.requests {
		until := f.sendDue()
		for _, c := range f.touched {
			if err := c.flush(); err != nil {
				return err
			}
		}
		f.touched = f.touched[:0]
		n, err := f.events(events, until)
		if err != nil {
			return err
		}
		for _, e := range events[:n] {
			if err := f.read(e.Fd); err != nil {
				return err
			}
		}
	}
	return nil
}

// sendDue sends what is due and has a client, and returns the time until the next request is due,
// negative if there is nothing but answers to wait for.
func (f *putFloor) sendDue() time.Duration {
	var now time.Duration
	if f.interval > 0 {
		now = time.Since(f.began)
	}
	for f.sent < f.requests && f.number > 0 {
		if due := time.Duration(f.sent) * f.interval; due > now {
			return due - now
		}
		c := f.conns[f.idle[f.first]]
		f.first, f.number = (f.first+1)%len(f.idle), f.number-1
		f.sent, f.touched = f.sent+1, append(f.touched, c)
		f.request.number(f.sent)
		c.put(f.request.message)
	}
	return -1
}

// put appends a request to what is sent.
func (c *floorConn) put(message []byte) {
	c.frame(frameHeaders, flagWholeHead, c.stream, len(c.head))
	c.out = append(c.out, c.head...)
	c.frame(frameData, flagEnd, c.stream, len(message))
	c.out = append(c.out, message...)
	c.head = c.later
	c.stream += 2
}

// flush sends what waits.
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

// events waits for connections with something to read. Go's scheduler does not know of the wait,
// because it would lend the processor to another thread meanwhile.
func (f *putFloor) events(events []unix.EpollEvent, wait time.Duration) (int, error) {
	limit := struct{ seconds, nanoseconds int64 }{int64(wait / time.Second), int64(wait % time.Second)}
	until := &limit
	if wait < 0 {
		until = nil
	}
	n, _, failed := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(f.epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), uintptr(unsafe.Pointer(until)), 0, 0)
	switch failed {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("wait for connections: %w", failed)
}

// read takes what has arrived on a connection.
func (f *putFloor) read(conn int32) error {
	c := f.conns[conn]
	f.touched = append(f.touched, c)
	n, err := unix.Read(c.fd, f.in[:])
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return err
	case n == 0:
		return errors.New("the server closed a connection")
	}
	data := f.in[:n]
	if len(c.rest) > 0 {
		c.rest = append(c.rest, data...)
		data = c.rest
	}
	ended, answered, err := c.frames(data)
	f.ended, f.answered = f.ended+int64(ended), f.answered+int64(answered)
	for range ended {
		f.wait(conn)
	}
	return err
}

// frames takes the whole frames of some data and keeps the rest. It counts the streams that ended,
// and those that had an answer.
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
	c.rest = append(c.rest[:0], data...)
	return ended, answered, nil
}
