package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// watchFloor watches an etcd key with the least a client can do: one thread waits for all
// connections, each with one stream for its watches. It counts the events in each message, and
// looks at the clock once for each frame. One more connection puts the key, one put after the
// other.
type watchFloor struct {
	floorLoop
	interval       time.Duration // from one due put to the next
	puts           int64
	sent, answered int64
	created        int64
	events         int64
	last           time.Time // when a frame was read
}

// floorWatch runs the floor until each watcher has had each put.
func floorWatch(args []string) error {
	flags := flag.NewFlagSet("floor-watch", flag.ContinueOnError)
	endpoints := flags.String("endpoints", "", "")
	watchers := flags.Int64("watchers", 0, "")
	puts := flags.Int64("puts", 0, "")
	connections := flags.Int("connections", 0, "")
	rate := flags.Int("rate", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	const most = 500 // watchers on a connection, which are created within its window
	if *connections < 1 || *watchers < int64(*connections) || *watchers > most*int64(*connections) || *rate < 1 {
		return fmt.Errorf("the floor must have a rate and 1 to %d watchers on each connection, got %d on %d", most, *watchers, *connections)
	}
	runtime.LockOSThread()
	loop, err := newFloorLoop()
	if err != nil {
		return err
	}
	f := &watchFloor{floorLoop: loop, interval: time.Second / time.Duration(*rate), puts: *puts}
	members := strings.Split(*endpoints, ",")
	if err := f.watch(members, *connections, *watchers); err != nil {
		return err
	}
	if err := f.put(members[:1], *watchers); err != nil {
		return err
	}
	if want := *puts * *watchers; f.events != want {
		return fmt.Errorf("%d events came, want %d", f.events, want)
	}
	return nil
}

// watch begins all watches.
func (f *watchFloor) watch(members []string, connections int, watchers int64) error {
	if err := f.dial(members, connections, watchMethod); err != nil {
		return err
	}
	create := newWatch()
	for i, c := range f.conns {
		c.message = (&stream{floor: f}).take
		var all []byte
		for n := int64(i); n < watchers; n += int64(connections) {
			all = append(all, create...)
		}
		c.send(all, 0)
	}
	for f.created < watchers {
		if err := f.turn(-1, f.none); err != nil {
			return err
		}
	}
	return nil
}

// put puts when it is due and the last put was answered, until all events have come.
func (f *watchFloor) put(members []string, watchers int64) error {
	if err := f.dial(members, 1, putMethod); err != nil {
		return err
	}
	writer := f.conns[len(f.conns)-1]
	message := newFloorRequest(watchedKey, watchedKey).message
	began := time.Now()
	for f.events < f.puts*watchers || f.answered < f.puts {
		wait := time.Duration(-1)
		if f.sent == f.answered && f.sent < f.puts {
			wait = max(time.Duration(f.sent)*f.interval-time.Since(began), 0)
		}
		if wait == 0 {
			writer.send(message, flagEnd)
			f.touched = append(f.touched, writer)
			f.sent, wait = f.sent+1, -1
		}
		err := f.turn(wait, func(conn int32, ended, answered int) {
			if f.conns[conn] == writer {
				f.answered += int64(ended)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// none ignores how streams end, because watch streams do not end.
func (f *watchFloor) none(int32, int, int) {}

// watchedKey is the length in bytes that the key and its value have, as etcd's tool has them by
// default.
const watchedKey = 32

// newWatch returns the message that begins a watch on the key that [newFloorRequest] puts.
func newWatch() []byte {
	key := append([]byte{0x0a, watchedKey}, strings.Repeat("0", watchedKey)...)
	body := append([]byte{0x0a, byte(len(key))}, key...)
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
}

// stream joins the data frames in a watch stream into messages. rest is the incomplete message.
type stream struct {
	floor *watchFloor
	rest  []byte
}

// take takes the whole messages in data and keeps the rest.
func (s *stream) take(data []byte) error {
	const head = 5
	s.floor.last = time.Now()
	if len(s.rest) > 0 {
		s.rest = append(s.rest, data...)
		data = s.rest
	}
	for len(data) >= head {
		size := head + int(binary.BigEndian.Uint32(data[1:]))
		if len(data) < size {
			break
		}
		if err := s.floor.response(data[head:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	s.rest = append(s.rest[:0], data...)
	return nil
}

// Fields in a watch response.
const (
	fieldCreated  = 3
	fieldCanceled = 4
	fieldEvents   = 11

	lengthDelimited = 2 // a field type
)

// response counts the events in a message, and whether a watch began.
func (f *watchFloor) response(body []byte) error {
	for len(body) > 0 {
		tag := body[0] // all fields are below 16
		value, n := binary.Uvarint(body[1:])
		if n <= 0 {
			return errors.New("a response to watches is cut")
		}
		body = body[1+n:]
		switch tag >> 3 {
		case fieldCreated:
			f.created++
		case fieldCanceled:
			return errors.New("the server canceled a watch")
		case fieldEvents:
			f.events++
		}
		if tag&7 == lengthDelimited {
			if uint64(len(body)) < value {
				return errors.New("a response to watches is cut")
			}
			body = body[value:]
		}
	}
	return nil
}
