package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

var _ database.WatchResumer = (*watches)(nil)

// past are the watches of a stream that begin in the past.
type past struct {
	release sync.Once // asked for
	old     error     // why the release cannot resume

	// Under the lock of the stream.
	resumed map[int64]*pb.WatchCreateRequest
	gone    map[int64]bool  // that ended before a gap
	overlap map[int64]int64 // the revision up to which a watcher has all, by watch that begins at or before it

	overlaps atomic.Int64 // how many there are
}

func newPast() *past {
	return &past{resumed: map[int64]*pb.WatchCreateRequest{}, gone: map[int64]bool{}, overlap: map[int64]int64{}}
}

// Resume creates a watch that begins in the past.
func (w *watches) Resume(ctx context.Context, watcher int32, r database.WatchRange, after int64) error {
	if w.past.release.Do(func() { w.past.old = w.checkRelease(ctx) }); w.past.old != nil {
		return w.past.old
	}
	create := w.request(watcher, r)
	create.StartRevision = max(after, 1) // etcd reports no progress while there is a watch of the future
	w.mu.Lock()
	w.past.resumed[create.WatchId] = create
	w.past.overlap[create.WatchId] = after
	w.past.overlaps.Add(1)
	w.mu.Unlock()
	_, err := w.create(ctx, create)
	return err
}

// checkRelease returns an error for a member whose answer to a request for progress does not cover
// watches that begin in the past.
func (w *watches) checkRelease(ctx context.Context) error {
	status, err := pb.NewMaintenanceClient(w.conn).Status(ctx, &pb.StatusRequest{})
	switch {
	case err != nil:
		return fmt.Errorf("ask for the release: %w", answer.Classify(err, true))
	case !resumes(status.Version):
		return fmt.Errorf("etcd %s may report progress before changes of the past: watchers can resume from 3.4.31 and from 3.5.13 on: %w", status.Version, errors.ErrUnsupported)
	}
	return nil
}

// resumes reports whether a release reports progress after all changes of watches that begin in the
// past, also of those without any (etcd pull requests 15237 and 17557).
func resumes(version string) bool {
	if database.Since(version, "3.5.0") {
		return database.Since(version, "3.5.13")
	}
	return database.Since(version, "3.4.31")
}

// fresh returns the events of a watch without those that its watcher has. They have rising revisions.
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

// skip creates another watch in place of one that began before the first revision that compaction has
// left, and reports the gap. It is called with the lock held.
func (w *watches) skip(id, left int64) {
	create := proto.CloneOf(w.past.resumed[id])
	create.StartRevision = left
	create.WatchId += 1 << 32 // which leaves the watcher's number as it is
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
