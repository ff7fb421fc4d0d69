package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

var (
	_ database.WatchDialer = (*Options)(nil)
	_ database.Watches     = (*watches)(nil)
	_ database.Holder      = (*watches)(nil)
)

// watchFacts returns the facts about the only kind of watch in etcd, over streams by a client.
func watchFacts(client string) []database.WatchFacts {
	return []database.WatchFacts{{
		Kind: database.WatchStream, How: fmt.Sprintf("one Watch stream of %s on each connection, a message for each watcher and change", client),
		Ordered: true, Values: true, Ranges: true,
	}}
}

// Clients that open streams.
const (
	streamOfLean = "dbtester's own client (with credentials: of grpc-go)"
	streamOfGRPC = "grpc-go"
)

// WatchFacts returns the facts for the transport in the options.
func (o *Options) WatchFacts() []database.WatchFacts {
	if o.Transport == database.Lean {
		return watchFacts(streamOfLean)
	}
	return watchFacts(streamOfGRPC)
}

// progressAgain is the interval between requests for progress: members do not answer while one of
// the watchers on the stream is behind.
const progressAgain = 100 * time.Millisecond

// watches is one Watch stream on its own connection. The revision for a barrier is read over conn.
type watches struct {
	conn   *grpc.ClientConn
	kv     pb.KVClient
	send   func(*pb.WatchRequest) error
	stop   func() // ends the stream, and returns after its last message
	prefix []byte
	to     database.Receiver
	over   chan struct{} // closed when the stream has ended
	held   database.Hold
	past   *past

	mu       sync.Mutex
	created  map[int64]pending // by watch
	progress map[int64]int64   // the last revision up to which a watch is complete, by watch
	changed  chan struct{}     // closed when progress has changed
	closed   bool
	tasks    sync.WaitGroup // requests for the changes after a gap
}

// pending is a watch etcd has not created yet.
type pending struct {
	answered chan begun // nil if no caller waits
	after    int64      // the revision up to which it is complete, 0 for the one at which it is created
}

// begun is the answer to a request that creates a watch.
type begun struct {
	revision int64
	err      error
}

// openGRPC opens a grpc-go stream on the connection.
func (w *watches) openGRPC(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if _, err := pb.NewMaintenanceClient(w.conn).Status(within, &pb.StatusRequest{}); err != nil {
		return err
	}
	streaming, end := context.WithCancel(context.WithoutCancel(ctx))
	stream, err := pb.NewWatchClient(w.conn).Watch(streaming)
	if err != nil {
		end()
		return err
	}
	var mu sync.Mutex
	w.send = func(r *pb.WatchRequest) error {
		mu.Lock()
		defer mu.Unlock()
		return stream.Send(r)
	}
	w.stop = func() {
		end()
		<-w.over
	}
	go w.read(stream)
	return nil
}

// idOf returns the number in etcd for a watcher; to etcd 0 means no number.
func idOf(watcher int32) int64 { return int64(watcher) + 1 }

// Add creates a watch.
func (w *watches) Add(ctx context.Context, watcher int32, r database.WatchRange) (after int64, err error) {
	return w.create(ctx, w.request(watcher, r))
}

// request returns the message that begins a watch for future changes.
func (w *watches) request(watcher int32, r database.WatchRange) *pb.WatchCreateRequest {
	create := &pb.WatchCreateRequest{WatchId: idOf(watcher), Key: append(bytes.Clone(w.prefix), r.Key...)}
	switch {
	case r.End != nil:
		create.RangeEnd = append(bytes.Clone(w.prefix), r.End...)
	case r.Key != nil:
	case len(w.prefix) > 0:
		create.RangeEnd = []byte(behind(string(w.prefix)))
	default: // all keys
		create.Key, create.RangeEnd = []byte{0}, []byte{0}
	}
	return create
}

// create creates a watch, and returns the revision at which etcd did.
func (w *watches) create(ctx context.Context, create *pb.WatchCreateRequest) (revision int64, err error) {
	answered := make(chan begun, 1)
	w.mu.Lock()
	w.created[create.WatchId] = pending{answered, create.StartRevision}
	w.progress[create.WatchId] = 0
	w.mu.Unlock()
	if err := w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}}); err != nil {
		return 0, fmt.Errorf("watch: %w", answer.Classify(err, true))
	}
	select {
	case is := <-answered:
		return is.revision, is.err
	case <-w.over:
		return 0, errStreamOver
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

var errStreamOver = errors.New("the stream of watches ended")

// Barrier reads the current revision, and then requests progress until the stream has reached it.
func (w *watches) Barrier(ctx context.Context) error {
	resp, err := w.kv.Range(ctx, &pb.RangeRequest{Key: append(bytes.Clone(w.prefix), 0), CountOnly: true})
	if err != nil {
		return fmt.Errorf("read the revision: %w", answer.Classify(err, true))
	}
	again := time.NewTicker(progressAgain)
	defer again.Stop()
	for {
		reached, changed := w.reached(resp.Header.Revision)
		if reached {
			return nil
		}
		if err := w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}); err != nil {
			return fmt.Errorf("ask for progress: %w", answer.Classify(err, true))
		}
		select {
		case <-changed:
		case <-again.C:
		case <-w.over:
			return errStreamOver
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// reached reports whether all watches are complete up to a revision. Otherwise it returns a channel
// that is closed when this may have changed.
func (w *watches) reached(revision int64) (bool, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.progress {
		if at < revision {
			return false, w.changed
		}
	}
	return true, nil
}

// ended records that the stream has ended.
func (w *watches) ended(err error) {
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if !closed {
		w.to.Broken(answer.Classify(err, true))
	}
	close(w.over)
}

// read reads a stream until it ends.
func (w *watches) read(stream pb.Watch_WatchClient) {
	var events []database.WatchEvent
	for {
		resp, err := stream.Recv()
		at := time.Now()
		if err == nil && len(resp.Events) == 0 {
			err = w.told(resp)
		}
		if err != nil {
			w.ended(err)
			return
		}
		if len(resp.Events) == 0 {
			continue
		}
		events = events[:0]
		for _, e := range resp.Events {
			if key, ours := bytes.CutPrefix(e.Kv.Key, w.prefix); ours {
				events = append(events, eventOf(resp.WatchId, e, key))
			}
		}
		if events = w.fresh(resp.WatchId, events); len(events) > 0 {
			w.to.Receive(at, events)
			w.held.Wait()
		}
	}
}

// Hold makes the stream stop reading until the channel is closed.
func (w *watches) Hold(until <-chan struct{}) { w.held.Set(until) }

// eventOf converts an event of a watch.
func eventOf(watch int64, e *mvccpb.Event, key []byte) database.WatchEvent {
	return database.WatchEvent{Watcher: int32(watch - 1), Key: key, Value: e.Kv.Value, Version: e.Kv.ModRevision}
}

// told handles a message without events: the answer to a request, or the progress of a watch, or of
// all watches, whose number is -1. It returns why a watch has ended.
func (w *watches) told(resp *pb.WatchResponse) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	waits := w.created[resp.WatchId]
	switch {
	case resp.Canceled && w.past.gone[resp.WatchId]:
	case resp.Canceled && resp.CompactRevision > 0 && w.past.resumed[resp.WatchId] != nil:
		if waits.answered != nil {
			waits.answered <- begun{revision: resp.Header.Revision}
		}
		w.skip(resp.WatchId, resp.CompactRevision)
	case resp.Canceled && waits.answered == nil && resp.CompactRevision > 0: // etcd names no reason then
		return fmt.Errorf("etcd cancelled watch %d: compaction discarded changes that it had not sent, and left those from revision %d on", resp.WatchId, resp.CompactRevision)
	case resp.Canceled && waits.answered == nil:
		return fmt.Errorf("etcd cancelled watch %d: %s", resp.WatchId, resp.CancelReason)
	case resp.Canceled:
		waits.answered <- begun{err: fmt.Errorf("etcd refused the watch: %s", resp.CancelReason)}
		delete(w.created, resp.WatchId)
	case resp.Created:
		complete := resp.Header.Revision
		if waits.answered != nil {
			waits.answered <- begun{revision: resp.Header.Revision}
		}
		if waits.after > 0 {
			complete = waits.after // later events are still to come
		}
		delete(w.created, resp.WatchId)
		w.progress[resp.WatchId] = max(w.progress[resp.WatchId], complete)
	default:
		for id, at := range w.progress {
			if _, waiting := w.created[id]; waiting {
				continue // the answer is not about it
			}
			if resp.WatchId == -1 || resp.WatchId == id {
				w.progress[id] = max(at, resp.Header.Revision)
			}
		}
		close(w.changed)
		w.changed = make(chan struct{})
	}
	return nil
}

// Close ends the stream and closes the connection.
func (w *watches) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.stop()
	w.tasks.Wait()
	return w.conn.Close()
}

// past holds the watches of a stream that begin in the past.
type past struct {
	release sync.Once // asked for
	old     error     // why the release cannot resume

	// The stream lock guards these.
	resumed map[int64]*pb.WatchCreateRequest
	gone    map[int64]bool  // that ended before a gap
	overlap map[int64]int64 // up to which revision a watcher has everything, by watch that begins at or before it

	overlaps atomic.Int64 // the number of entries in overlap
}

func newPast() *past {
	return &past{resumed: map[int64]*pb.WatchCreateRequest{}, gone: map[int64]bool{}, overlap: map[int64]int64{}}
}

// fresh returns the events of a watch without those that its watcher has. Their revisions rise.
func (w *watches) fresh(watch int64, events []database.WatchEvent) []database.WatchEvent {
	if w.past.overlaps.Load() == 0 || len(events) == 0 {
		return events
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	after, overlaps := w.past.overlap[watch]
	if !overlaps {
		return events
	}
	if events[len(events)-1].Version > after { // the rest is new
		delete(w.past.overlap, watch)
		w.past.overlaps.Add(-1)
	}
	return slices.DeleteFunc(events, func(e database.WatchEvent) bool { return e.Version <= after })
}

// skip replaces a watch that began before the first revision that compaction has left, and reports
// the gap. It is called with the lock held.
func (w *watches) skip(id, left int64) {
	create := proto.CloneOf(w.past.resumed[id])
	create.StartRevision = left
	create.WatchId += 1 << 32 // which leaves the watcher number as it is
	delete(w.past.resumed, id)
	delete(w.created, id)
	delete(w.progress, id)
	w.past.gone[id] = true
	w.past.resumed[create.WatchId] = create
	w.created[create.WatchId] = pending{after: left - 1}
	w.progress[create.WatchId] = 0
	after, overlaps := w.past.overlap[id]
	if left-1 > after {
		w.to.Receive(time.Now(), []database.WatchEvent{{Watcher: int32(id - 1), Gap: true, Version: left - 1}})
	}
	if !overlaps {
		w.past.overlaps.Add(1)
	}
	w.past.overlap[create.WatchId] = left - 1
	delete(w.past.overlap, id)
	w.tasks.Go(func() { // the reader must not wait for the other side
		// A stream that cannot send has ended, which its reader reports. Until the old watch is
		// cancelled, etcd reports no progress.
		_ = w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{CancelRequest: &pb.WatchCancelRequest{WatchId: id}}})
		_ = w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: create}})
	})
}
