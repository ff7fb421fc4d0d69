//go:build linux

package main

import (
	"io"
	"net"
	"time"
)

// proxy forwards connections to back until the listener is closed.
func proxy(l net.Listener, back string, delay time.Duration) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go forward(client, back, delay)
	}
}

// forward connects a client with the server until either ends. Where nothing listens,
// the client is reset as the server would do.
func forward(client net.Conn, back string, delay time.Duration) {
	defer client.Close()
	server, err := net.Dial("tcp", back)
	if err != nil {
		if c, ok := client.(*net.TCPConn); ok {
			_ = c.SetLinger(0) // it is closed anyway
		}
		return
	}
	defer server.Close()
	ended := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(client, server) // the connection ends with it
		ended <- struct{}{}
	}()
	go func() {
		hold(server, client, delay)
		ended <- struct{}{}
	}()
	<-ended
}

// chunk holds the bytes from one read on a client connection.
type chunk struct {
	data []byte
	due  time.Time
}

// waitingChunks bounds the chunks held back at once on a connection.
const waitingChunks = 4096

// hold copies with a delay. Bytes that arrive meanwhile wait for no longer than it.
func hold(to io.Writer, from io.Reader, delay time.Duration) {
	chunks := make(chan chunk, waitingChunks)
	go func() {
		defer close(chunks)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				chunks <- chunk{data[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	failed := false
	for c := range chunks { // to the end, which the reader waits for
		if failed {
			continue
		}
		if wait := time.Until(c.due); wait > 0 {
			<-time.After(wait)
		}
		_, err := to.Write(c.data)
		failed = err != nil
	}
}
