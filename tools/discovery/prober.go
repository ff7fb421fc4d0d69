package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ended notes that a key was known to be gone.
func (s *sight) ended(key string, at time.Time) {
	// The name has that of the run and two numbers.
	parts := strings.Split(key, "-")
	if len(parts) != 3 {
		return
	}
	instance, err := strconv.Atoi(parts[1])
	generation, err2 := strconv.Atoi(parts[2])
	if err != nil || err2 != nil {
		return
	}
	r := registration{instance, generation}
	if _, known := s.gone[r]; !known {
		s.gone[r] = at
	}
}

// list notes which keys there are: others that were there are gone.
func (s *sight) list(keys []string, at time.Time) {
	now := make(map[string]bool, len(keys))
	for _, key := range keys {
		now[key] = true
	}
	for key := range s.listed {
		if !now[key] {
			s.ended(key, at)
		}
	}
	s.listed = now
}

// prober watches the instances through each member.
type prober struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
	sights  []*sight
}

// probe starts a prober, which waits for the members.
func probe(ctx context.Context, s store) *prober {
	ctx, cancel := context.WithCancel(ctx)
	p := &prober{cancel: cancel}
	for member := range 3 {
		saw := &sight{gone: map[registration]time.Time{}}
		p.sights = append(p.sights, saw)
		address := fmt.Sprintf("%s%d:%d", s.network, member+1, s.port)
		p.running.Go(func() {
			for {
				if listens(ctx, address) {
					if why := s.follow(ctx, address, saw); ctx.Err() == nil { // else it was ended
						saw.why = why
					}
				}
				if !pause(ctx) {
					return
				}
			}
		})
	}
	return p
}

// stop ends the prober and returns its observations through each member.
func (p *prober) stop() []*sight {
	p.cancel()
	p.running.Wait()
	return p.sights
}

// listens reports whether an address can be connected to.
func listens(ctx context.Context, address string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// pause waits before a request is repeated. It is false once ctx is over.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(50 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}
