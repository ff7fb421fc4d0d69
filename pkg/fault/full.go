package fault

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
)

// fill fills the disk of a member to its last block.
func fill(ctx context.Context, v Victim, r Record) (string, error) {
	d, ok := v.Disk()
	if !ok {
		return "", errNoDisk
	}
	if len(r.Processes) == 0 {
		return "", errNotRunning
	}
	n, err := d.Fill(ctx)
	return fmt.Sprintf("%s were left of the disk", humanize.IBytes(uint64(n))), err
}

// drain frees the space of the disk. A member that has ended itself is started again.
func drain(ctx context.Context, v Victim) (string, error) {
	d, ok := v.Disk()
	if !ok {
		return "", nil // it was never applied
	}
	n, err := d.Free()
	if err != nil {
		return "", err
	}
	if err := d.Drain(); err != nil {
		return "", err
	}
	if err := v.Start(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s were free at its end", humanize.IBytes(uint64(n))), nil
}
