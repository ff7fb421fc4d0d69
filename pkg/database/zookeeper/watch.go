package zookeeper

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/wire/exchange"
)

var (
	_ database.WatchDialer = (*Options)(nil)
	_ database.WatchRuler  = (*Options)(nil)
	_ database.Watches     = (*watches)(nil)
	_ database.Holder      = (*watches)(nil)
)

// watchFacts returns the facts about each kind of watch in ZooKeeper. A session has only one watch
// on a path, however often it requests one, so each watcher has its own session.
func watchFacts() []database.WatchFacts {
	return []database.WatchFacts{
		{
			Kind: database.WatchPersistent, How: "addWatch, persistent and recursive; each watcher is a session of its own, and events have no value",
			Ordered: true, Ranges: true, Conns: true, NoParts: "a watch is of a znode and all below it, and keys are side by side",
			NoResume: noResume,
		},
		{
			Kind: database.WatchOneShot, How: "getData with a watch again after each event; each watcher is a session of its own, and the value is that of the read",
			Ordered: true, Coalesces: true, Values: true, Conns: true, NoParts: "a watch is of one znode",
			NoResume: noResume,
		},
	}
}

// noResume is why watchers do not continue over a new connection.
const noResume = "a session takes its watches along when it ends"

// OneShotWatches returns the facts about the watches that each release and each proxy has.
func OneShotWatches() database.WatchFacts { return watchFacts()[1] }

// WatchFacts returns the facts for the transport in the options. The standard transport does not
// return the transactions of writes, to which events from persistent watches are matched.
func (o *Options) WatchFacts() []database.WatchFacts {
	if o.Transport == database.Standard {
		return watchFacts()[1:]
	}
	return watchFacts()
}

// recursive is a mode of addWatch.
const recursive = 1

// Event types.
const (
	eventCreated = 1
	eventChanged = 3
)

// watchBuffer bounds the events that one read returns, in bytes.
const watchBuffer = 16 << 10

// watches is one session over its own connection. One goroutine reads it and sends pings.
type watches struct {
	conn    net.Conn
	in      *bufio.Reader
	keys    Keyspace
	once    bool // the kind is one-shot
	byReads bool // see [Protocol.EventsBeforeReads]
	to      database.Receiver
	timeout time.Duration // of the session
	most    int           // bytes in an answer
	over    chan struct{} // closed when the reader has ended
	held    database.Hold

	sending sync.Mutex
	pinged  time.Time // of the reader

	mu      sync.Mutex
	xid     int32
	waiting map[int32]chan watchAnswer // for answers to requests
	reads   map[int32]*watched         // for the answer to a read of a key
	paths   map[string]*watched
	all     *watched
	closed  bool
}

// watched is the key or range of one watcher.
type watched struct {
	watcher int32
	path    string
	version int64 // from the last read
}

// watchAnswer is the answer to a request.
type watchAnswer struct {
	header
	body []byte
}

// DialWatches begins a session; see [Protocol.DialWatches].
func (o *Options) DialWatches(ctx context.Context, t database.Target, kind database.WatchKind, to database.Receiver) (database.Watches, error) {
	return o.protocol().DialWatches(ctx, t, kind, to)
}

// DialWatches begins a session with the preferred or else the first member.
func (p Protocol) DialWatches(ctx context.Context, t database.Target, kind database.WatchKind, to database.Receiver) (database.Watches, error) {
	t.Prefer = max(t.Prefer, 0)
	w := &watches{
		keys: p.Keys.below(t), once: kind == database.WatchOneShot, byReads: p.EventsBeforeReads, to: to, most: p.MaxPacket + answerOverhead, over: make(chan struct{}),
		waiting: map[int32]chan watchAnswer{}, reads: map[int32]*watched{}, paths: map[string]*watched{},
	}
	if err := w.connect(ctx, t); err != nil {
		return nil, fmt.Errorf("dial for watches: %w", err)
	}
	go w.receive()
	return w, nil
}

// connect begins the session.
func (w *watches) connect(ctx context.Context, t database.Target) error {
	r, err := routeTo(t)
	if err != nil {
		return err
	}
	if w.conn, err = exchange.Dial(ctx, r.endpoints[0], r.tls); err != nil {
		return err
	}
	w.in = bufio.NewReaderSize(w.conn, watchBuffer)
	err = w.handshake(t)
	if err == nil {
		err = w.conn.SetDeadline(time.Time{})
	}
	if err != nil {
		return errors.Join(err, w.conn.Close())
	}
	w.pinged = time.Now()
	return nil
}

// handshake requests the session and sends the credentials.
func (w *watches) handshake(t database.Target) error {
	if err := w.conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	if _, err := w.conn.Write(appendConnect(nil, 0, sessionTimeout, 0, [passwdSize]byte{})); err != nil {
		return err
	}
	answer, err := readSession(func(n int) ([]byte, error) {
		b := make([]byte, n)
		_, err := io.ReadFull(w.in, b)
		return b, err
	})
	if err != nil {
		return err
	}
	w.timeout = answer.timeout
	if t.Auth == nil {
		return nil
	}
	if _, err := w.conn.Write(appendAuth(nil, digestScheme, credentials(t.Auth))); err != nil {
		return err
	}
	a, err := w.packet()
	if err != nil {
		return err
	}
	return errorOf(a.code)
}

// write sends a packet.
func (w *watches) write(packet []byte) error {
	w.sending.Lock()
	defer w.sending.Unlock()
	if err := w.conn.SetWriteDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	_, err := w.conn.Write(sealed(packet))
	return err
}

// next returns the number of the next request.
func (w *watches) next() int32 {
	w.xid = max(1, w.xid+1)
	return w.xid
}

// ask sends a request, whose packet add completes, and waits for its answer. The error may come
// from the member.
func (w *watches) ask(ctx context.Context, op int32, add func([]byte) []byte) (watchAnswer, error) {
	answer := make(chan watchAnswer, 1)
	w.mu.Lock()
	xid := w.next()
	w.waiting[xid] = answer
	w.mu.Unlock()
	if err := w.write(add(appendHeader(nil, xid, op))); err != nil {
		return watchAnswer{}, classify(err, true)
	}
	select {
	case a := <-answer:
		return a, errorOf(a.code)
	case <-w.over:
		return watchAnswer{}, classify(zk.ErrConnectionClosed, true)
	case <-ctx.Done():
		return watchAnswer{}, classify(context.Cause(ctx), true)
	}
}

// Add begins to watch.
func (w *watches) Add(ctx context.Context, watcher int32, r database.WatchRange) (after int64, err error) {
	one := &watched{watcher: watcher, path: w.keys.root}
	if one.path == "" {
		one.path = "/"
	}
	if r.Key != nil {
		one.path = string(w.keys.appendPath(nil, r.Key))
	}
	w.mu.Lock()
	if r.Key == nil {
		w.all = one
	} else {
		w.paths[one.path] = one
	}
	w.mu.Unlock()
	if w.once {
		return w.addOnce(ctx, one)
	}
	a, err := w.ask(ctx, opAddWatch, func(b []byte) []byte { return appendInt(appendBytes(b, one.path), recursive) })
	if errors.Is(err, errUnimplemented) {
		err = fmt.Errorf("members before 3.6 have no persistent watches: %w", errors.ErrUnsupported)
	}
	if err != nil {
		return 0, fmt.Errorf("add a watch: %w", err)
	}
	return a.zxid, nil
}

// errUnimplemented is the answer to a request a member does not know.
var errUnimplemented = serverError{-6}

// addOnce reads a key and watches it.
func (w *watches) addOnce(ctx context.Context, one *watched) (after int64, err error) {
	a, err := w.ask(ctx, opGetData, func(b []byte) []byte { return appendRead(b, one.path, true) })
	var version int64
	if err == nil {
		_, version, err = valueOf(a.body)
	}
	if err != nil {
		return 0, fmt.Errorf("read a key with a watch: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	one.version = max(one.version, version)
	return version, nil
}

// appendRead completes a read, which may set a watch.
func appendRead(b []byte, path string, watch bool) []byte {
	b = append(appendBytes(b, path), 0)
	if watch {
		b[len(b)-1] = 1
	}
	return b
}

// valueOf returns the value in the answer to a read, and the transaction that wrote it.
func valueOf(body []byte) (value []byte, version int64, err error) {
	if len(body) < lengthField+statSize {
		return nil, 0, fmt.Errorf("%w: %d bytes are too few for a value", errMalformed, len(body))
	}
	length := max(0, int64(lengthOf(body)))
	if length != int64(len(body)-lengthField-statSize) {
		return nil, 0, fmt.Errorf("%w: it announces a value of %d bytes in a packet of %d", errMalformed, length, len(body))
	}
	stat := body[lengthField+length:]
	return body[lengthField : lengthField+length], int64(binary.BigEndian.Uint64(stat[8:])), nil
}

// Barrier removes a missing znode. The member answers when it has applied that transaction and has
// sent the events for all earlier transactions. A sync would not suffice: the leader answers it at
// once. If keys are read after events, a second removal is answered after those reads.
func (w *watches) Barrier(ctx context.Context) error {
	pass := w.remove
	if w.byReads {
		pass = w.read
	}
	err := pass(ctx)
	if err == nil && w.once {
		err = pass(ctx)
	}
	return err
}

// read syncs and reads the watched znodes, without a watch.
func (w *watches) read(ctx context.Context) error {
	w.mu.Lock()
	paths := slices.Sorted(maps.Keys(w.paths))
	w.mu.Unlock()
	for _, path := range paths {
		_, err := w.ask(ctx, opSync, func(b []byte) []byte { return appendBytes(b, path) })
		if err == nil {
			_, err = w.ask(ctx, opGetData, func(b []byte) []byte { return appendRead(b, path, false) })
		}
		if err != nil {
			return fmt.Errorf("wait for events: %w", err)
		}
	}
	return nil
}

// remove removes a missing znode.
func (w *watches) remove(ctx context.Context) error {
	_, err := w.ask(ctx, opDelete, func(b []byte) []byte { return appendInt(appendBytes(b, w.keys.root+"/no-such-znode"), anyVersion) })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("wait for events: %w", err)
	}
	return nil
}

// packet reads the next packet, whose body is valid until the next call.
func (w *watches) packet() (watchAnswer, error) {
	b, err := w.in.Peek(lengthField + headerSize)
	if err != nil {
		return watchAnswer{}, err
	}
	h, err := parseHeader(b, w.most)
	if err != nil {
		return watchAnswer{}, err
	}
	if w.in.Buffered() < lengthField+headerSize+h.size { // the wait for its first bytes may be about to end
		if err := w.conn.SetReadDeadline(time.Now().Add(w.timeout)); err != nil {
			return watchAnswer{}, err
		}
	}
	if whole, err := w.in.Peek(lengthField + headerSize + h.size); err == nil {
		_, _ = w.in.Discard(len(whole)) // all in the buffer
		return watchAnswer{h, whole[lengthField+headerSize:]}, nil
	} else if !errors.Is(err, bufio.ErrBufferFull) {
		return watchAnswer{}, err
	}
	_, _ = w.in.Discard(lengthField + headerSize)
	body := make([]byte, h.size)
	_, err = io.ReadFull(w.in, body)
	return watchAnswer{h, body}, err
}

// receive reads packets and sends pings until the connection ends.
func (w *watches) receive() {
	defer close(w.over)
	var events []database.WatchEvent
	heard := time.Now()
	for {
		err := w.conn.SetReadDeadline(time.Now().Add(w.timeout / 3))
		if err == nil {
			_, err = w.in.Peek(lengthField + headerSize)
		}
		at := time.Now()
		switch {
		case err == nil:
			events, err = w.take(events[:0], at)
			heard = time.Now() // the session may have been held
		case errors.Is(err, os.ErrDeadlineExceeded) && at.Sub(heard) < w.timeout:
			err = nil
		}
		if err == nil && at.Sub(w.pinged) > w.timeout/4 {
			w.pinged = at
			err = w.write(appendHeader(nil, xidPing, opPing))
		}
		if err != nil {
			w.mu.Lock()
			closed := w.closed
			w.mu.Unlock()
			if !closed {
				w.to.Broken(classify(err, true))
			}
			return
		}
	}
}

// take handles the packets from one read, which began to come at a time, and reports their events.
// A packet has arrived when it is complete.
func (w *watches) take(events []database.WatchEvent, at time.Time) ([]database.WatchEvent, error) {
	for {
		had := w.in.Buffered()
		a, err := w.packet()
		if err != nil {
			return events, err
		}
		if had < lengthField+headerSize+a.size {
			at = time.Now()
		}
		var e database.WatchEvent
		is := false
		switch a.xid {
		case xidNotice:
			e, is, err = w.notice(a)
		case xidPing:
		default:
			if waits := w.waiter(a.xid); waits != nil {
				events = w.report(at, events) // a barrier ends after all events before its answer
				waits <- watchAnswer{a.header, append([]byte(nil), a.body...)}
			} else {
				e, is, err = w.answered(a)
			}
		}
		if err != nil {
			return events, err
		}
		if is {
			events = append(events, e)
		}
		// Packet bytes move when the buffer is filled again.
		b, err := w.in.Peek(min(w.in.Buffered(), lengthField+headerSize))
		if err != nil || len(b) < lengthField+headerSize || w.in.Buffered() < lengthField+int(lengthOf(b)) || lengthOf(b) < 0 {
			return w.report(at, events), nil
		}
	}
}

// report reports events, and returns their memory.
func (w *watches) report(at time.Time, events []database.WatchEvent) []database.WatchEvent {
	if len(events) > 0 {
		w.to.Receive(at, events)
		w.wait()
	}
	return events[:0]
}

// Hold makes the session stop reading until the channel is closed. It still sends pings, for which
// other ZooKeeper clients have a thread.
func (w *watches) Hold(until <-chan struct{}) { w.held.Set(until) }

// wait returns when the session may read again.
func (w *watches) wait() {
	until := w.held.Until()
	if until == nil {
		return
	}
	ping := time.NewTicker(w.timeout / 4)
	defer ping.Stop()
	for {
		select {
		case <-until:
			return
		case at := <-ping.C:
			if w.pinged = at; w.write(appendHeader(nil, xidPing, opPing)) != nil {
				return // the next read fails too
			}
		}
	}
}

// waiter returns the channel that waits for an answer, nil for the answer to a read after an event.
func (w *watches) waiter(xid int32) chan<- watchAnswer {
	w.mu.Lock()
	defer w.mu.Unlock()
	waits := w.waiting[xid]
	delete(w.waiting, xid)
	return waits
}

var errNoTransaction = errors.New("the member's events do not name their transaction, as those of ZooKeeper before 3.9")

// notice handles a notification: it returns an event, or reads a key again.
func (w *watches) notice(a watchAnswer) (e database.WatchEvent, is bool, err error) {
	const kinds = 4 + 4 // type and state
	if len(a.body) < kinds+lengthField || int64(len(a.body)) < kinds+lengthField+int64(max(0, lengthOf(a.body[kinds:]))) {
		return e, false, fmt.Errorf("%w: an event of %d bytes", errMalformed, len(a.body))
	}
	kind := lengthOf(a.body)
	path := a.body[kinds+lengthField:][:max(0, lengthOf(a.body[kinds:]))]
	if kind != eventCreated && kind != eventChanged {
		return e, false, nil
	}
	w.mu.Lock()
	one := w.paths[string(path)]
	if one == nil {
		one = w.all
	}
	xid := int32(0)
	if one != nil && w.once {
		xid = w.next()
		w.reads[xid] = one
	}
	w.mu.Unlock()
	switch {
	case one == nil:
		return e, false, nil
	case w.once:
		return e, false, w.write(appendRead(appendHeader(nil, xid, opGetData), one.path, true))
	case a.zxid <= 0:
		return e, false, errNoTransaction
	}
	return database.WatchEvent{Watcher: one.watcher, Key: w.keyOf(path), Version: a.zxid}, true, nil
}

// keyOf returns the key for a path.
func (w *watches) keyOf(path []byte) []byte {
	name := string(path[strings.LastIndexByte(string(path), '/')+1:])
	return []byte(unescapedNames([]string{name})[0])
}

// answered handles the answer to a read after an event, which is a delivery.
func (w *watches) answered(a watchAnswer) (e database.WatchEvent, is bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.reads[a.xid]
	if one == nil {
		return e, false, nil
	}
	delete(w.reads, a.xid)
	if err := errorOf(a.code); err != nil {
		return e, false, fmt.Errorf("read a key with a watch: %w", err)
	}
	value, version, err := valueOf(a.body)
	if err != nil {
		return e, false, err
	}
	if version <= one.version {
		return database.WatchEvent{Watcher: one.watcher, Woken: true}, true, nil
	}
	one.version = version
	return database.WatchEvent{Watcher: one.watcher, Key: w.keyOf([]byte(one.path)), Value: value, Version: version}, true, nil
}

// Close ends the session.
func (w *watches) Close() error {
	w.mu.Lock()
	w.closed = true
	xid := w.next()
	w.mu.Unlock()
	if w.write(appendHeader(nil, xid, opClose)) == nil {
		// The member closes the connection. The reader sends a ping at the latest, which fails.
		timer := time.AfterFunc(time.Second, func() { _ = w.conn.Close() })
		<-w.over
		timer.Stop()
	}
	// It is closed in any case. An error means that the member closed it first, perhaps before the
	// last record of TLS could be sent.
	_ = w.conn.Close()
	<-w.over
	return nil
}
