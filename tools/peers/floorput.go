package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// putFloor puts to etcd with the least work a client can do: one thread waits for all connections,
// requests are encoded once except for their keys and streams, and only the ends of answers are
// read. It answers PINGs at once and makes every request, but it has no records, no deadlines and
// no flow control: a connection may have at most 64 KiB in flight.
type putFloor struct {
	floorLoop
	requests int64
	interval time.Duration // from one due request to the next; 0 for a closed loop
	began    time.Time

	// idle is a ring in which each connection is listed once for each client on it that waits.
	idle          []int32
	first, number int

	sent, ended, answered int64
	request               floorRequest
}

// Methods of etcd.
const (
	putMethod   = "/etcdserverpb.KV/Put"
	watchMethod = "/etcdserverpb.Watch/Watch"
)

// floorPut runs the floor until all requests are answered.
func floorPut(args []string) error {
	flags := flag.NewFlagSet("floor-put", flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "")
	requests := flags.Int64("requests", 0, "")
	clients := flags.Int("clients", 0, "")
	connections := flags.Int("connections", 0, "")
	rate := flags.Int("rate", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	const most = 30 // requests at once on a connection, within its window
	if *connections < 1 || *clients < *connections || *clients > most**connections {
		return fmt.Errorf("the floor must have 1 to %d clients on each connection, got %d on %d", most, *clients, *connections)
	}
	f := &putFloor{requests: *requests, idle: make([]int32, *clients), request: newFloorRequest(floorKey, floorValue)}
	if *rate > 0 {
		f.interval = time.Second / time.Duration(*rate)
	}
	runtime.LockOSThread()
	var err error
	if f.floorLoop, err = newFloorLoop(); err != nil {
		return err
	}
	if err := f.dial(strings.Split(*endpoints, ","), *connections, putMethod); err != nil {
		return err
	}
	for n := range *clients {
		f.wait(int32(n % *connections))
	}
	if err := f.run(); err != nil {
		return err
	}
	return tooManyFailed(f.ended-f.answered, *requests)
}

// floorRequest is the message for a put, whose key changes.
type floorRequest struct {
	message []byte
	key     int // where the key begins
}

const floorKey, floorValue = 256, 1024

// newFloorRequest returns a put of an all-zero key, with lengths in bytes.
func newFloorRequest(key, value int) floorRequest {
	var body []byte
	body = binary.AppendUvarint(append(body, 0x0a), uint64(key))
	at := len(body)
	body = append(body, strings.Repeat("0", key)...)
	body = binary.AppendUvarint(append(body, 0x12), uint64(value))
	body = append(body, strings.Repeat("v", value)...)
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	return floorRequest{message, len(message) - len(body) + at}
}

// number writes the request number into the end of its key.
func (r floorRequest) number(n int64) {
	for i := r.key + floorKey - 1; n > 0; i-- {
		r.message[i] = '0' + byte(n%10)
		n /= 10
	}
}

// wait makes a client on a connection wait for its next request.
func (f *putFloor) wait(conn int32) {
	f.idle[(f.first+f.number)%len(f.idle)] = conn
	f.number++
}

// run sends requests and takes answers until all have ended.
func (f *putFloor) run() error {
	f.began = time.Now()
	for f.ended < f.requests {
		err := f.turn(f.sendDue(), func(conn int32, ended, answered int) {
			f.ended, f.answered = f.ended+int64(ended), f.answered+int64(answered)
			for range ended {
				f.wait(conn)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sendDue sends the due requests that have a client, and returns the time until the next request is due;
// negative if there are only answers to wait for.
func (f *putFloor) sendDue() time.Duration {
	var now time.Duration
	if f.interval > 0 {
		now = time.Since(f.began)
	}
	for f.sent < f.requests && f.number > 0 {
		if due := time.Duration(f.sent) * f.interval; due > now {
			return due - now
		}
		c := f.conns[f.idle[f.first]]
		f.first, f.number = (f.first+1)%len(f.idle), f.number-1
		f.sent, f.touched = f.sent+1, append(f.touched, c)
		f.request.number(f.sent)
		c.send(f.request.message, flagEnd)
	}
	return -1
}
