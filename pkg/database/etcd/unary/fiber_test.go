package unary

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	own "github.com/coreos/dbtester/pkg/database/etcd/http2"
	"github.com/coreos/dbtester/pkg/wire/fiber"
)

// fiberContext is the context for calls by a fiber.
type fiberContext struct {
	context.Context
	cancel context.CancelFunc
	fiber  *fiber.Fiber
	left   time.Duration
}

func newFiberContext(f *fiber.Fiber) *fiberContext {
	ctx, cancel := context.WithCancel(context.Background())
	return &fiberContext{Context: ctx, cancel: cancel, fiber: f}
}

func (c *fiberContext) Fiber() *fiber.Fiber { return c.fiber }

func (c *fiberContext) Left() time.Duration { return c.left }

func (c *fiberContext) Value(key any) any {
	if key == any(fiber.Key{}) {
		return c.fiber
	}
	return c.Context.Value(key)
}

// interrupt ends the context as an engine does.
func (c *fiberContext) interrupt() {
	c.cancel()
	c.fiber.Interrupt()
}

// askInFiber makes one call that waits as a fiber.
func askInFiber(ctx *fiberContext, c *Client, path string, m Message) (reply string, err error) {
	_, err = c.Call(ctx, path, &m, func(b []byte) (bool, error) {
		reply = string(b)
		return false, nil
	})
	return reply, err
}

// soon fails the test if a group has not ended in time.
func soon(t *testing.T, group *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(within):
		t.Fatalf("fibers have not ended within %v", within)
	}
}

// Fibers and goroutines share connections, with more calls than the server takes at a
// time.
func TestManyFibers(t *testing.T) {
	script := func(s *scripted) {
		s.greet(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 70})
		s.echo()
	}
	c := dial(t, listen(t, script), listen(t, script))
	var group sync.WaitGroup
	for i := range 200 {
		check := func(n int, ask func(path string, m Message) (string, error)) {
			path, size := fmt.Sprintf("/s/%d", (i+n)%7), i*(n%3)
			want := fmt.Sprintf("%s %d", path, own.Prefix+(&Message{Rest: make([]byte, size)}).size())
			if got, err := ask(path, Message{Rest: make([]byte, size)}); err != nil || got != want {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		}
		if i%4 == 0 {
			group.Go(func() {
				for n := range 50 {
					check(n, func(path string, m Message) (string, error) {
						got, _, err := ask(t.Context(), c, path, m)
						return got, err
					})
				}
			})
			continue
		}
		fiber.Go(&group, func(f *fiber.Fiber) {
			ctx := newFiberContext(f)
			for n := range 50 {
				check(n, func(path string, m Message) (string, error) {
					if i%8 == 1 && n%5 == 0 { // a derived context
						got, _, err := ask(ctx, c, path, m)
						return got, err
					}
					return askInFiber(ctx, c, path, m)
				})
			}
		})
	}
	soon(t, &group)
}

// A call whose context ends returns, whatever else happens at that moment, and the next call by the
// fiber is not disturbed.
func TestInterruptedFibers(t *testing.T) {
	c := dial(t, listen(t, func(s *scripted) {
		s.greet()
		for id := s.request(); id != 0; id = s.request() {
			for len(s.resets) > 0 {
				<-s.resets
			}
			if s.paths[id] != "/hang" {
				s.reply(id, s.paths[id])
			}
		}
	}))
	var group sync.WaitGroup
	var interrupted atomic.Int64
	for i := range 50 {
		fiber.Go(&group, func(f *fiber.Fiber) {
			for n := range 40 {
				ctx := newFiberContext(f)
				path := fmt.Sprintf("/%d/%d", i, n)
				if n%4 == 0 {
					path = "/hang"
				}
				var stopping sync.WaitGroup
				pause := time.Duration(rand.Int64N(int64(300 * time.Microsecond)))
				stopping.Go(func() {
					time.Sleep(pause)
					ctx.interrupt()
				})
				got, err := askInFiber(ctx, c, path, Message{})
				switch {
				case err != nil && errors.Is(err, context.Canceled):
					interrupted.Add(1)
				case err != nil || got != path || path == "/hang":
					t.Errorf("%s: got %q, %v", path, got, err)
				}
				f.Leave()
				stopping.Wait()
			}
		})
	}
	soon(t, &group)
	if n := interrupted.Load(); n < 50*10 {
		t.Errorf("%d calls were interrupted, want at least those that hang, 500", n)
	}
}

// An interruption that comes late, when the fiber has gone on to its next call, does not end
// that one.
func TestLateInterruption(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	c := dial(t, listen(t, func(s *scripted) {
		s.greet()
		id := s.request()
		for s.paths[id] != "/next" {
			id = s.request()
		}
		close(asked)
		<-answer
		s.reply(id, "yes")
	}))
	var group sync.WaitGroup
	var own *fiber.Fiber
	fiber.Go(&group, func(f *fiber.Fiber) {
		own = f
		ended := newFiberContext(f)
		ended.cancel()
		if got, err := askInFiber(ended, c, "/first", Message{}); !errors.Is(err, context.Canceled) {
			t.Errorf("a call whose context has ended: got %q, %v", got, err)
		}
		if got, err := askInFiber(newFiberContext(f), c, "/next", Message{}); err != nil || got != "yes" {
			t.Errorf("the next call: got %q, %v; want its answer", got, err)
		}
	})
	<-asked
	own.Interrupt()
	close(answer)
	soon(t, &group)
}

// Connections that break at any moment hold no fiber.
func TestFibersLoseConnections(t *testing.T) {
	c := dial(t, listen(t, func(s *scripted) {
		s.greet()
		for n := 0; n < 20; n++ {
			id := s.request()
			if id == 0 {
				return
			}
			s.reply(id, "yes")
		}
	}))
	var group sync.WaitGroup
	var lost atomic.Int64
	for range 30 {
		fiber.Go(&group, func(f *fiber.Fiber) {
			ctx := newFiberContext(f)
			for answered := 0; answered < 10; {
				got, err := askInFiber(ctx, c, "/s/m", Message{One: []byte(strings.Repeat("k", 100))})
				switch {
				case err != nil:
					lost.Add(1)
				case got == "yes":
					answered++
				default:
					t.Errorf("got %q", got)
					return
				}
			}
		})
	}
	soon(t, &group)
	if lost.Load() == 0 {
		t.Error("no call was lost with its connection")
	}
}

// The client is closed while fibers wait: each call fails.
func TestCloseWithFibers(t *testing.T) {
	asked := make(chan struct{}, 10)
	c := start(Config{Addresses: []string{listen(t, func(s *scripted) {
		s.greet()
		for s.request() != 0 {
			asked <- struct{}{}
		}
	})}}, quick())
	var group sync.WaitGroup
	for range 10 {
		fiber.Go(&group, func(f *fiber.Fiber) {
			if got, err := askInFiber(newFiberContext(f), c, "/s/m", Message{}); err == nil {
				t.Errorf("got %q from a closed client, want an error", got)
			}
		})
	}
	for range 10 {
		<-asked
	}
	c.Close()
	soon(t, &group)
}
