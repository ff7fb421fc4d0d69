package fault

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/pkg/fault/owndisk"
)

// filled is a disk that a fault fills.
type filled struct{ disk owndisk.Disk }

// Close frees the space of the disk.
func (f filled) Close() error { return f.disk.Drain() }

// fill fills the member's disk to its last block.
func fill(ctx context.Context, v Victim, r Record) (string, error) {
	d, ok := v.Disk()
	if !ok {
		return "", errNoDisk
	}
	if len(r.Processes) == 0 {
		return "", errNotRunning
	}
	n, err := d.Fill(ctx)
	if err != nil {
		return "", err
	}
	v.Hold(r.ID, filled{d})
	return fmt.Sprintf("%s were left of the disk", humanize.IBytes(uint64(n))), nil
}

// drain frees the space of the disk, which is mounted for a moment if it has no power. A member
// that has ended itself is started again.
func drain(ctx context.Context, v Victim, r Record, d owndisk.Disk) (string, error) {
	is, err := d.Mounted()
	if err == nil && !is {
		err = d.Mount()
	}
	if err != nil {
		return "", err
	}
	n, err := d.Free()
	err = errors.Join(err, v.LetGo(r.ID))
	if !is {
		err = errors.Join(err, d.Unmount(ctx))
	}
	if err != nil {
		return "", err
	}
	if err := v.Start(ctx, r.ID); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s were free at its end", humanize.IBytes(uint64(n))), nil
}
