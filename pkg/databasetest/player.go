package databasetest

import (
	"net"
	"sync"
	"testing"
)

// slack is the number of bytes by which requests may be shorter than in the recording: they contain
// port numbers.
const slack = 8

// player is a server that replays a member's answers.
type player struct {
	connections
	moved  *sync.Cond // a client sent something, or a connection ended
	played int        // pieces
}

// play starts a server that replays a conversation, one connection after another. It closes
// further connections at once.
func play(t testing.TB, said conversation) *player {
	t.Helper()
	p := &player{connections: connections{listener: listen(t)}}
	p.moved = sync.NewCond(&p.mu)
	p.tasks.Go(func() {
		for n := 0; ; n++ {
			conn, err := p.listener.Accept()
			if err != nil {
				return
			}
			if n >= len(said) {
				_ = conn.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, conn)
			p.mu.Unlock()
			p.serve(conn, said[n])
		}
	})
	return p
}

// serve replays the pieces for one connection, each when the client has sent enough.
func (p *player) serve(conn net.Conn, pieces []piece) {
	sent, over := 0, false
	p.tasks.Go(func() {
		buffer := make([]byte, 32<<10)
		for {
			n, err := conn.Read(buffer)
			p.mu.Lock()
			sent += n
			over = err != nil
			p.mu.Unlock()
			p.moved.Broadcast()
			if err != nil {
				_ = conn.Close()
				return
			}
		}
	})
	p.tasks.Go(func() {
		for _, one := range pieces {
			p.mu.Lock()
			for sent < one.After-slack && !over {
				p.moved.Wait()
			}
			ended := over
			p.mu.Unlock()
			if ended {
				return
			}
			if _, err := conn.Write(one.Data); err != nil {
				return
			}
			p.mu.Lock()
			p.played++
			p.mu.Unlock()
		}
		// The client reads everything before it sees the end.
		_ = conn.(*net.TCPConn).CloseWrite()
	})
}

// end closes all connections, and returns the number of replayed pieces.
func (p *player) end() int {
	p.close()
	return p.played
}
