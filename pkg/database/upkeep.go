package database

import (
	"context"
	"time"
)

// Compacter is a driver of a database that keeps the history of its keys.
type Compacter interface {
	// Compact forgets all history up to now. It returns when the members have removed it,
	// so that its space is used again.
	Compact(ctx context.Context, t Target) error
	// CompactEvery is how often loads that overwrite or delete keys compact the cluster
	// unless their file says otherwise; 0 is never.
	CompactEvery() time.Duration
}

// Defragmenter is a driver whose members give unused space of their store back.
type Defragmenter interface {
	// Defragment does so for one member, which may answer nothing meanwhile.
	Defragment(ctx context.Context, t Target, member int) error
}

// Snapshotter is a driver whose members make a copy of their data when they are asked.
type Snapshotter interface {
	// Snapshot has one member make a copy, and returns its size in bytes when it is whole.
	// A copy that the member sends is read to its end and not kept; a member that makes a
	// file keeps that.
	Snapshot(ctx context.Context, t Target, member int) (int64, error)
}

// SnapshotPlanner is a [Snapshotter] whose members must be started for it.
type SnapshotPlanner interface {
	// PlanSnapshots changes the options so that members can be asked for snapshots. The
	// error is why there can be none.
	PlanSnapshots(s SnapshotTarget) error
}

// SnapshotTarget is a cluster that is to be asked for snapshots.
type SnapshotTarget struct {
	// Version is that of the members' release, "" if it is not known.
	Version string
	// Running means that the members run already, with options of their own: they take no
	// change.
	Running bool
	// Secret means that the clients' credentials are sent over TLS only.
	Secret bool
}
