// Package standin is a cluster of scripted servers that speak etcd's v3 protocol. A script decides
// the time and the content of each reply, and the cluster logs every request with its own clock. It
// shares no code with the program it judges.
package standin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// Options decide how a cluster answers load requests. Other requests, such as probes and writes
// before the load, get a true answer at once.
type Options struct {
	Members int
	// Load is the method that load requests use: Put or Range.
	Load Method
	// Slots limits the load requests that all members serve at once, each for its delay; 0 is no
	// limit. Requests wait for a slot in arrival order.
	Slots int
	// Delay is how long a request is served, if the script gives no other.
	Delay time.Duration
	// Freeze are stretches in which load requests get no answers.
	Freeze []Stretch
	// Script decides about one load request; nil answers them all. It must be safe for concurrent
	// use.
	Script func(Request) Action
}

// Stretch is counted from when the first load request arrived.
type Stretch struct{ From, To time.Duration }

// Method names an RPC of etcd's KV service.
type Method string

// Methods for requests; Other is every method except the first two.
const (
	Put   Method = "put"
	Range Method = "range"
	Other Method = "other"
)

// Request is passed to the script before it is answered.
type Request struct {
	Member int
	N      int64 // from 0, in the order in which they arrived at any member
	Since  time.Duration
	Key    string
}

// Action decides how a request is answered. The zero value gives the true answer.
type Action struct {
	Delay   time.Duration // replaces the delay in the options
	Hang    bool          // no answer; the request ends when its client gives up
	Refuse  error         // the answer, and nothing is applied
	Corrupt Corruption    // of the value a Range returns
}

// Corruption is how the value a Range returns is wrong.
type Corruption int

// A flipped bit near the end keeps the length, as does the value of another key.
const (
	Intact Corruption = iota
	FlippedBit
	OtherKey
)

// Cluster is several servers on one store.
type Cluster struct {
	options Options
	store   store
	log     log
	slots   chan struct{}
	slammed atomic.Int64
	members []*member
}

type member struct {
	pb.UnimplementedKVServer
	pb.UnimplementedMaintenanceServer
	cluster *Cluster
	index   int
	addr    string

	mu     sync.Mutex   // guards the fields below
	server *grpc.Server // nil while stopped
	slam   net.Listener // nil unless connections are closed at once

	slamming sync.WaitGroup
}

// Start starts a cluster on loopback addresses it chooses.
func Start(o Options) (*Cluster, error) {
	c := &Cluster{options: o, store: newStore()}
	if o.Slots > 0 {
		c.slots = make(chan struct{}, o.Slots)
	}
	for i := range max(o.Members, 1) {
		m := &member{cluster: c, index: i, addr: "127.0.0.1:0"}
		c.members = append(c.members, m)
		if err := m.start(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func (m *member) start() error {
	l, err := net.Listen("tcp", m.addr)
	if err != nil {
		return fmt.Errorf("stand-in member %d: %w", m.index, err)
	}
	server := grpc.NewServer()
	pb.RegisterKVServer(server, m)
	pb.RegisterMaintenanceServer(server, m)
	m.mu.Lock()
	m.addr, m.server = l.Addr().String(), server
	m.mu.Unlock()
	go server.Serve(l) //nolint:errcheck // it ends by Stop, which waits for it
	return nil
}

func (m *member) stop() {
	m.mu.Lock()
	server := m.server
	slam := m.slam
	m.server, m.slam = nil, nil
	m.mu.Unlock()
	if slam != nil {
		_ = slam.Close() // the accepting goroutine ends
		m.slamming.Wait()
	}
	if server != nil {
		server.Stop()
	}
}

// Stop makes one member refuse connections.
func (c *Cluster) Stop(member int) { c.members[member].stop() }

// Restart starts a stopped member again on its address.
func (c *Cluster) Restart(member int) error { return c.members[member].start() }

// Slam makes one member accept connections and close them at once, until Close.
func (c *Cluster) Slam(member int) error {
	m := c.members[member]
	m.stop()
	l, err := net.Listen("tcp", m.addr)
	if err != nil {
		return fmt.Errorf("stand-in member %d: %w", member, err)
	}
	m.slamming.Add(1)
	m.mu.Lock()
	m.slam = l
	m.mu.Unlock()
	go func() {
		defer m.slamming.Done()
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			c.slammed.Add(1)
			_ = conn.Close() // its client sees the end either way
		}
	}()
	return nil
}

// Slammed counts the connections that were closed at once.
func (c *Cluster) Slammed() int64 { return c.slammed.Load() }

// Endpoints are the member addresses.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.members {
		all = append(all, m.addr)
	}
	return all
}

// Close stops all members. The log stays readable.
func (c *Cluster) Close() error {
	for _, m := range c.members {
		m.stop()
	}
	return nil
}

// Forget clears the log and counts load requests from 0 again, for another run with another script
// on the same store. No load may be running.
func (c *Cluster) Forget(script func(Request) Action) {
	c.log.clear()
	c.options.Script = script
}

// Status answers for a leader, which is the first member.
func (m *member) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return &pb.StatusResponse{Header: m.header(), Version: "3.6.0", Leader: 1, RaftTerm: 1, RaftIndex: 1}, nil
}

func (m *member) header() *pb.ResponseHeader {
	return &pb.ResponseHeader{ClusterId: 1, MemberId: uint64(m.index + 1), Revision: 1, RaftTerm: 1}
}
