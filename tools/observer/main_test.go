package main

import (
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// A put is stamped once, however its bytes come, and smaller requests are not. Answers are held back.
func TestProxy(t *testing.T) {
	t.Parallel()
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	server := listen()
	defer server.Close()
	go answerAll(server)
	const delay = 20 * time.Millisecond
	p := &proxy{listener: listen(), back: server.Addr().String(), delay: func() time.Duration { return delay }}
	p.start()
	client, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	go slowly(client, out)
	if _, err := io.WriteString(in, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(in, client)
	began := time.Now()
	for id, sizes := range map[uint32][]int{1: {1300}, 3: {10}, 5: {600, 700}} {
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndHeaders: true})
		for n, size := range sizes {
			err = errors.Join(err, framer.WriteData(id, n == len(sizes)-1, make([]byte, size)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := framer.ReadFrame(); err != nil {
			t.Fatalf("read an answer: %v", err)
		}
	}
	took := time.Since(began)
	client.Close()
	in.Close()
	log := p.stop()
	if len(log) != 2 {
		t.Fatalf("the proxy saw %d puts, want 2", len(log))
	}
	for _, s := range log {
		if held := s.answered.Sub(s.arrived); held < delay || held > took {
			t.Errorf("a put was answered after %v, want from %v to %v", held, delay, took)
		}
	}
}

// slowly sends bytes in pieces that end within frame heads.
func slowly(to io.Writer, from io.Reader) {
	piece := make([]byte, 7)
	for {
		n, err := from.Read(piece)
		if err != nil {
			return
		}
		if _, err := to.Write(piece[:n]); err != nil {
			return
		}
	}
}

// answerAll ends each stream whose request is complete.
func answerAll(l net.Listener) {
	conn, err := l.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return
		}
		if d, ok := f.(*http2.DataFrame); ok && d.StreamEnded() {
			_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: d.StreamID, EndHeaders: true, EndStream: true}) // the client reports a missing one
		}
	}
}

// With a rate, times are from when requests were due.
func TestObserved(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var log []stamps
	for i := range 100 {
		late := time.Duration(0)
		if i%10 == 3 {
			late = 2 * time.Millisecond
		}
		arrived := began.Add(time.Duration(i)*10*time.Millisecond + late)
		log = append(log, stamps{arrived, arrived.Add(5 * time.Millisecond)})
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: got %v ms, want %v", what, got, want)
		}
	}
	closed := observed(log, 0)
	near("mean of a closed loop", closed.mean, 5)
	rated := observed(log, 100)
	near("mean of a rate", rated.mean, 5.2)
	near("p99 of a rate", rated.p99, 7)
	near("p99 of the lateness", rated.late, 2)
	if !math.IsNaN(closed.late) {
		t.Errorf("a closed loop has a lateness of %v ms, want none", closed.late)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	const report = `{"table": {"rows": [{"name": "AVG-LATENCY", "cells": [{"value": 5.5}]}, {"name": "Latency p99", "cells": [{"value": 7}]}, {"name": "OK", "cells": [{"value": 100}]}, {"name": "LATENESS p99", "cells": [{"value": 0.1}]}]}}`
	got, ok, err := read(report)
	if err != nil || ok != 100 || got != (times{5.5, 7, 0.1}) {
		t.Errorf("got %v, %v, %v", got, ok, err)
	}
	if _, _, err := read(`{}`); err == nil {
		t.Error("a report without rows must be an error")
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := sides{reported: times{10.05, 20.6, math.NaN()}, observed: times{10, 20, math.NaN()}}
	err := print(&out, []load{{clients: 1, connections: 1}}, [][]sides{{s, s, s}})
	if text := out.String(); !strings.Contains(text, "mean within 1 %: met; p99 within 2 %: missed") || !strings.Contains(text, "1.0300") {
		t.Errorf("got\n%s", text)
	}
	if err == nil {
		t.Error("a bar that is missed must be an error")
	}
}
