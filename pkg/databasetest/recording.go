package databasetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// playedWithin bounds a call while its answer is recorded, and when it is played unchanged. gRPC
// requests name the time that they have left: with another bound they have another length, for
// which a recording has no answer.
const playedWithin = 30 * time.Second

// recording holds a member's answers to each call, by call name.
type recording map[string]conversation

// conversation holds the connections for one call in the order in which they were accepted, each
// with the pieces the member sent.
type conversation [][]piece

// piece is data a member sent in one read.
type piece struct {
	// After is the number of bytes that the client had sent before on that connection.
	After int    `json:"after"`
	Data  []byte `json:"data"`
}

// recordingPath returns the path to a recording in the calling package.
func recordingPath(name string) string { return filepath.Join("testdata", "answers", name+".json") }

// record starts a member, makes every call through a proxy, and writes the answers.
func record(t *testing.T, s Suite, name string) {
	t.Helper()
	c := Start(t, s, 1)
	defer c.Stop()
	made := recording{}
	for _, call := range serverCalls(c.driver) {
		to := c.Target()
		to.Prefix = liedPrefix
		writeSome(t, c.driver, to)
		r := newRecorder(t, to.Endpoints[0])
		to.Endpoints = []string{r.listener.Addr().String()}
		call.try(t, to, playedWithin)
		made[call.name] = r.end()
	}
	data, err := json.MarshalIndent(made, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(recordingPath(name)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(recordingPath(name), append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatalf("write the recording: %v", err)
	}
}

// writeSome writes the keys that calls find.
func writeSome(t *testing.T, d database.Driver, to database.Target) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	c, err := d.Dial(ctx, to)
	if err != nil {
		t.Fatalf("dial the member: %v", err)
	}
	for i := range int64(5) {
		put(t, c, workload.AppendKey(nil, i, prefixKeySize), []byte("value"))
	}
	if err := c.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

// readRecording reads the recording of that name.
func readRecording(t testing.TB, name string) recording {
	t.Helper()
	var r recording
	data, err := os.ReadFile(recordingPath(name))
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil || len(r) == 0 {
		t.Fatalf("read the recorded answers: %v; -record makes them", err)
	}
	return r
}

// recorder forwards bytes between clients and a member, and records the data from the member.
type recorder struct {
	connections
	member string
	said   conversation
}

// connections tracks a server's connections and the tasks that serve them.
type connections struct {
	listener net.Listener
	tasks    sync.WaitGroup
	mu       sync.Mutex // of conns, and of data from the server
	conns    []net.Conn
}

// close closes all connections, and waits until the tasks have ended.
func (c *connections) close() {
	_ = c.listener.Close()
	c.mu.Lock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.mu.Unlock()
	c.tasks.Wait()
}

func newRecorder(t *testing.T, member string) *recorder {
	t.Helper()
	r := &recorder{connections: connections{listener: listen(t)}, member: member}
	r.tasks.Go(func() {
		for {
			client, err := r.listener.Accept()
			if err != nil {
				return
			}
			if err := r.serve(client); err != nil {
				t.Errorf("record: %v", err)
			}
		}
	})
	return r
}

// listen opens a listener on loopback, which the test closes.
func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen on loopback: %v", err)
	}
	return l
}

// serve carries one connection until either side ends it.
func (r *recorder) serve(client net.Conn) error {
	member, err := net.Dial("tcp", r.member)
	if err != nil {
		return errors.Join(fmt.Errorf("connect to the member: %w", err), client.Close())
	}
	r.mu.Lock()
	at := len(r.said)
	r.said = append(r.said, nil)
	r.conns = append(r.conns, client, member)
	r.mu.Unlock()
	sent := 0 // under the mutex
	r.tasks.Go(func() {
		carry(member, client, func(data []byte) {
			r.mu.Lock()
			sent += len(data)
			r.mu.Unlock()
		})
	})
	r.tasks.Go(func() {
		carry(client, member, func(data []byte) {
			r.mu.Lock()
			r.said[at] = append(r.said[at], piece{sent, append([]byte(nil), data...)})
			r.mu.Unlock()
		})
	})
	return nil
}

// carry copies until either side ends, and ends the other.
func carry(to, from net.Conn, see func([]byte)) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			see(buffer[:n])
		}
		if _, werr := to.Write(buffer[:n]); err != nil || werr != nil {
			_ = to.Close()
			return
		}
	}
}

// end closes all connections, and returns the recorded conversation.
func (r *recorder) end() conversation {
	r.close()
	return r.said
}
