package etcd

import (
	"context"
	"errors"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd/answer"
)

var _ database.WatchResumer = (*watches)(nil)

// Resume creates a watch that begins in the past.
func (w *watches) Resume(ctx context.Context, watcher int32, r database.WatchRange, after int64) error {
	if w.past.release.Do(func() { w.past.old = w.checkRelease(ctx) }); w.past.old != nil {
		return w.past.old
	}
	create := w.request(watcher, r)
	create.StartRevision = max(after, 1) // etcd reports no progress while there is a watch for the future
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

// resumes reports whether a release reports progress after all changes for watches that begin in
// the past, also for those without changes (etcd pull requests 15237 and 17557).
func resumes(version string) bool {
	if database.Since(version, "3.5.0") {
		return database.Since(version, "3.5.13")
	}
	return database.Since(version, "3.4.31")
}
