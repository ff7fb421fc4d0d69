package database

import "context"

// Compacter is a driver of a database that keeps the history of its keys.
type Compacter interface {
	// Compact forgets all history up to now. It returns when the members have removed it,
	// so that its space is used again.
	Compact(ctx context.Context, t Target) error
}

// Defragmenter is a driver whose members give unused space of their store back.
type Defragmenter interface {
	// Defragment does so for one member, which may answer nothing meanwhile.
	Defragment(ctx context.Context, t Target, member int) error
}

// Snapshotter is a driver whose members hand out a copy of their data.
type Snapshotter interface {
	// Snapshot has one member make a copy, reads it to its end, and returns its size in
	// bytes. Nothing is kept.
	Snapshot(ctx context.Context, t Target, member int) (int64, error)
}
