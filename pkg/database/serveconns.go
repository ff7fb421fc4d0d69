package database

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// ServeConns accepts connections until ctx ends, and runs serve with each in its own goroutine. A
// connection is closed when serve returns or ctx ends. Errors from serve are ignored, because the
// client sees that its connection ended. ServeConns closes l and returns after every serve has: nil
// if ctx ended, else the error from the listener.
func ServeConns(ctx context.Context, l net.Listener, serve func(net.Conn) error) error {
	var open sync.WaitGroup
	defer open.Wait()
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	open.Go(func() {
		<-own.Done()
		l.Close()
	})
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				conn.Close()
			}
			return nil
		case err != nil:
			return fmt.Errorf("accept a connection: %w", err)
		}
		open.Go(func() {
			defer context.AfterFunc(own, func() { conn.Close() })()
			defer conn.Close()
			_ = serve(conn)
		})
	}
}
