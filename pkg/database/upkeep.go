package database

import (
	"context"
	"time"
)

// Compacter is a driver for a database that keeps the history of its keys.
type Compacter interface {
	// Compact removes all history up to now. It returns when the members have removed it
	// and can reuse its space.
	Compact(ctx context.Context, t Target) error
	// CompactEvery is the interval at which loads that overwrite or delete keys compact the
	// cluster, unless their file gives another interval; 0 means never.
	CompactEvery() time.Duration
}

// Defragmenter is a driver whose members can free unused space in their store.
type Defragmenter interface {
	// Defragment frees unused space on one member. The member may answer nothing meanwhile.
	Defragment(ctx context.Context, t Target, member int) error
}

// Snapshotter is a driver whose members copy their data on request.
type Snapshotter interface {
	// Snapshot makes one member copy its data, and returns the size of the copy in bytes when it is
	// complete. A copy the member sends is read to its end and dropped; a member that writes a file
	// keeps the file.
	Snapshot(ctx context.Context, t Target, member int) (int64, error)
}

// SnapshotPlanner is a [Snapshotter] whose members take snapshots only with certain options.
type SnapshotPlanner interface {
	// PlanSnapshots changes the options so that members accept snapshot requests. The error is the
	// reason why they cannot.
	PlanSnapshots(s SnapshotTarget) error
}

// SnapshotTarget is a cluster that will make snapshots.
type SnapshotTarget struct {
	// Version is the member release, "" if unknown.
	Version string
	// Running means that the members already run with their own options, which cannot
	// change.
	Running bool
	// Secret means that client credentials are sent over TLS only.
	Secret bool
}
