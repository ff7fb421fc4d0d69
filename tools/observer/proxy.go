package main

import (
	"encoding/binary"
	"net"
	"sync"
	"time"
)

// stamps are when one put arrived and was answered.
type stamps struct {
	arrived  time.Time // its last byte, from the client
	answered time.Time // the end of its answer was about to be sent
}

// proxy forwards connections and stamps puts. It delays data from the server.
type proxy struct {
	listener net.Listener
	back     string
	delay    func() time.Duration

	serving, conns sync.WaitGroup

	mu  sync.Mutex
	log []stamps
}

// start serves until stop.
func (p *proxy) start() { p.serving.Go(p.serve) }

// leastPut is the least put size in the load, in bytes. Requests by control itself are smaller.
const leastPut = 1024

// serve forwards connections until the listener is closed.
func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.back)
		if err != nil {
			client.Close()
			continue
		}
		c := &conn{client: client, server: server, delay: p.delay, sent: map[uint32]time.Time{}, sizes: map[uint32]int{}}
		p.conns.Go(func() {
			c.forward()
			p.mu.Lock()
			defer p.mu.Unlock()
			p.log = append(p.log, c.log...)
		})
	}
}

// stop ends the listener and returns the stamps from all connections, which must have ended.
func (p *proxy) stop() []stamps {
	p.listener.Close()
	p.serving.Wait()
	p.conns.Wait()
	return p.log
}

// conn is one connection.
type conn struct {
	client, server net.Conn
	delay          func() time.Duration

	mu    sync.Mutex
	sent  map[uint32]time.Time // puts without an answer, by their streams
	sizes map[uint32]int       // bytes in requests that are not complete
	log   []stamps
}

// forward passes bytes on until either side ends.
func (c *conn) forward() {
	var sides sync.WaitGroup
	sides.Go(c.requests)
	sides.Go(c.answers)
	sides.Wait()
}

// requests forwards data from the client.
func (c *conn) requests() {
	defer c.server.Close()
	frames := frameReader{skip: len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")}
	data := make([]byte, 64<<10)
	for {
		n, err := c.client.Read(data)
		now := time.Now()
		frames.take(data[:n], func(f frame) { c.request(f, now) })
		if n > 0 {
			if _, err := c.server.Write(data[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// request stamps a put when its last frame has come.
func (c *conn) request(f frame, now time.Time) {
	if f.kind != frameData {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sizes[f.stream] += f.size
	if f.flags&flagEnd == 0 {
		return
	}
	if c.sizes[f.stream] >= leastPut {
		c.sent[f.stream] = now
	}
	delete(c.sizes, f.stream)
}

// chunk holds the bytes from one read on the server connection.
type chunk struct {
	data []byte
	due  time.Time
}

// answers forwards data from the server in order, each chunk after a delay.
func (c *conn) answers() {
	defer c.client.Close()
	const waiting = 4096 // chunks that are held back at once on a connection
	chunks := make(chan chunk, waiting)
	var sending sync.WaitGroup
	sending.Go(func() {
		var frames frameReader
		for held := range chunks {
			time.Sleep(time.Until(held.due))
			now := time.Now()
			_, _ = c.client.Write(held.data) // a client that is gone ends the other direction
			frames.take(held.data, func(f frame) { c.answer(f, now) })
		}
	})
	for {
		data := make([]byte, 16<<10)
		n, err := c.server.Read(data)
		if n > 0 {
			chunks <- chunk{data[:n], time.Now().Add(c.delay())}
		}
		if err != nil {
			break
		}
	}
	close(chunks)
	sending.Wait()
}

// answer stamps the put a frame ends.
func (c *conn) answer(f frame, now time.Time) {
	if f.kind != frameHeaders || f.flags&flagEnd == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.sent[f.stream]; ok {
		c.log = append(c.log, stamps{at, now})
		delete(c.sent, f.stream)
	}
}

// HTTP/2 frame types, and the flag on the last frame in a stream.
const (
	frameData, frameHeaders = 0, 1
	flagEnd                 = 1
	headBytes               = 9
)

// frame has the fields of a frame header. size is the payload length.
type frame struct {
	kind, flags byte
	stream      uint32
	size        int
}

// frameReader finds frames in bytes that come in pieces.
type frameReader struct {
	skip int // bytes before the head of the next frame, or in its payload
	head []byte
	last *frame // whose payload is not complete
}

// take calls a function for each frame that is now complete.
func (r *frameReader) take(data []byte, complete func(frame)) {
	for {
		n := min(r.skip, len(data))
		data, r.skip = data[n:], r.skip-n
		if r.skip > 0 {
			return
		}
		if r.last != nil {
			complete(*r.last)
			r.last = nil
		}
		n = min(headBytes-len(r.head), len(data))
		r.head, data = append(r.head, data[:n]...), data[n:]
		if len(r.head) < headBytes {
			return
		}
		r.skip = int(r.head[0])<<16 + int(r.head[1])<<8 + int(r.head[2])
		r.last = &frame{kind: r.head[3], flags: r.head[4], stream: binary.BigEndian.Uint32(r.head[5:]) &^ (1 << 31), size: r.skip}
		r.head = r.head[:0]
	}
}
