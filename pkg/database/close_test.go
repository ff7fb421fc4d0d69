package database

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// closer is a connection that closes in some way.
type closer func() error

func (c closer) Close() error { return c() }

func TestCloseAll(t *testing.T) {
	why := errors.New("no answer")
	var closed atomic.Int64
	conns := make([]interface{ Close() error }, 3*closeAtOnce)
	for i := range conns {
		if i%3 == 0 {
			continue // nil
		}
		conns[i] = closer(func() error { closed.Add(1); return nil })
	}
	if err := CloseAll(conns); err != nil || closed.Load() != 2*closeAtOnce {
		t.Errorf("closed %d connections with %v, want %d", closed.Load(), err, 2*closeAtOnce)
	}
	conns[1] = closer(func() error { return why })
	if err := CloseAll(conns); !errors.Is(err, why) || err.Error() != "close connections: no answer" {
		t.Errorf("error %v, want the one of a connection", err)
	}
	conns[2] = closer(func() error { return why })
	if err := CloseAll(conns); !errors.Is(err, why) || !strings.HasSuffix(err.Error(), "(and 1 more)") {
		t.Errorf("error %v, want the first and how many more", err)
	}
	conns[1], conns[2] = closer(func() error { panic("gone") }), nil
	if err := CloseAll(conns); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("error %v, want one that names the panic", err)
	}
}
