package fake

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// slow is a receiver that takes a second for the events in a read.
type slow struct{ received atomic.Int64 }

func (s *slow) Receive(_ time.Time, events []database.WatchEvent) {
	time.Sleep(time.Second)
	s.received.Add(int64(len(events)))
}

func (s *slow) Broken(error) {}

// A barrier ends after the event before its mark was received, even if one read brought both.
func TestBarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		go func() {
			_, mark, _, err := readFrame(bufio.NewReader(server))
			if err != nil {
				t.Errorf("read the request for a mark: %v", err)
			}
			var b bytes.Buffer
			w := bufio.NewWriter(&b)
			_ = writeFrame(w, byte(opEvent), append(make([]byte, watcherSize+versionSize), "key"...), []byte("value"))
			_ = writeFrame(w, byte(opMark), mark, binary.BigEndian.AppendUint64(nil, 0))
			if _, err := server.Write(b.Bytes()); err != nil {
				t.Errorf("write an event and a mark: %v", err)
			}
		}()
		to := &slow{}
		w := &watches{conn: client, to: to, w: bufio.NewWriter(client), answers: map[string]chan int64{}, over: make(chan struct{})}
		go w.read()
		if err := w.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := to.received.Load(); n != 1 {
			t.Errorf("%d events were received before the barrier ended, want 1", n)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// dated is a receiver that keeps event times.
type dated struct{ times chan time.Time }

func (d dated) Receive(at time.Time, events []database.WatchEvent) {
	for range events {
		d.times <- at
	}
}

func (dated) Broken(error) {}

// An event that came in parts has the time at which its last part came: otherwise it might be older
// than its write.
func TestEventInParts(t *testing.T) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	for range 2 {
		_ = writeFrame(w, byte(opEvent), append(make([]byte, watcherSize+versionSize), "key"...), []byte("value"))
	}
	both := b.Bytes()
	for cut := len(both) / 2; cut <= len(both); cut++ {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			to := dated{make(chan time.Time, 2)}
			watches := &watches{conn: client, to: to, over: make(chan struct{})}
			go watches.read()
			for n, part := range [][]byte{both[:cut], both[cut:]} {
				time.Sleep(time.Duration(n) * time.Second)
				if _, err := server.Write(part); err != nil {
					t.Error(err)
				}
			}
			apart := time.Second
			if cut == len(both) {
				apart = 0
			}
			if first, second := <-to.times, <-to.times; second.Sub(first) != apart {
				t.Errorf("%d of %d bytes came first: the events are %v apart, want %v", cut, len(both), second.Sub(first), apart)
			}
			if err := watches.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
