package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// interval is the time between two writes to one member, and patience how long each may take.
	interval = 10 * time.Millisecond
	patience = time.Second
	// most limits the pending writes to one member. It is more than can be sent within patience, or
	// a new write would wait until an old one ended.
	most = 120
)

// writer writes one value to a member. write returns once it is acknowledged, and may be called by
// several goroutines.
type writer interface {
	write(ctx context.Context) error
}

// prober writes to each member all the time, and notes when a write was acknowledged.
type prober struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	answers []time.Time
}

// probe starts a prober.
func probe(s store) *prober {
	ctx, cancel := context.WithCancel(context.Background())
	p := &prober{cancel: cancel}
	for i := range 3 {
		w := s.dial(fmt.Sprintf("127.0.1.%d:%d", i+1, s.port))
		p.running.Go(func() { p.member(ctx, w) })
	}
	return p
}

// member writes to one member.
func (p *prober) member(ctx context.Context, w writer) {
	room := make(chan struct{}, most)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		select {
		case room <- struct{}{}:
		default:
			continue
		}
		p.running.Go(func() {
			defer func() { <-room }()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if w.write(ctx) == nil {
				now := time.Now()
				p.mu.Lock()
				defer p.mu.Unlock()
				p.answers = append(p.answers, now)
			}
		})
	}
}

// stop ends the prober and returns its answers in order.
func (p *prober) stop() []time.Time {
	p.cancel()
	p.running.Wait()
	slices.SortFunc(p.answers, time.Time.Compare)
	return p.answers
}

// overHTTP writes by one request.
type overHTTP struct {
	method, url, body string
	client            *http.Client
}

// dialHTTP returns a function that makes writers for this request.
func dialHTTP(method, path, body string) func(string) writer {
	return func(address string) writer {
		return &overHTTP{method, "http://" + address + path, body, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: most}}}
	}
}

func (w *overHTTP) write(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, w.method, w.url, bytes.NewBufferString(w.body))
	if err != nil {
		return err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || string(answer) == "false") {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return err
}

// zooKeeper writes over a new session each time: a client that has just come.
type zooKeeper struct{ address string }

func dialZooKeeper(address string) writer { return zooKeeper{address} }

// write opens a session and asks for a new node that may exist already: an answer that it exists
// comes from the quorum as well.
func (z zooKeeper) write(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", z.address)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, bounded := ctx.Deadline()
	if !bounded {
		deadline = time.Now().Add(patience)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	// The session: protocol 0, no transaction seen, 4 s, no session before, no password.
	if _, err := exchange(conn, slices.Concat(number(0), make([]byte, 8), number(4000), make([]byte, 8), number(16), make([]byte, 16))); err != nil {
		return err
	}
	// Request 1, create (1): path, data, everybody may do everything, no flags.
	path := "/outside"
	answer, err := exchange(conn, slices.Concat(number(1), number(1), text(path), text("1"), number(1), number(31), text("world"), text("anyone"), number(0)))
	if err != nil {
		return err
	}
	const exists = -110
	if len(answer) < 16 {
		return errors.New("a short answer")
	}
	if code := int32(binary.BigEndian.Uint32(answer[12:])); code != 0 && code != exists {
		return fmt.Errorf("error %d", code)
	}
	_, err = conn.Write(slices.Concat(number(8), number(2), number(-11))) // close the session
	return err
}

// exchange sends a frame and returns the next one.
func exchange(conn net.Conn, frame []byte) ([]byte, error) {
	if _, err := conn.Write(slices.Concat(number(int32(len(frame))), frame)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 1<<20 {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(conn, answer)
	return answer, err
}

func number(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
func text(s string) []byte  { return append(number(int32(len(s))), s...) }
