package consul

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

var _ database.Profiler = (*Options)(nil)

// CPUProfile fetches a profile from a member's client port. The member serves it with the option
// enable_debug, or to tokens with operator:read.
func (o *Options) CPUProfile(ctx context.Context, t database.Target, member int, d time.Duration, w io.Writer) error {
	err := o.members(t).ask(member, func(c *client) error {
		resp, err := c.get(ctx, database.ProfilePath(d))
		if err != nil {
			return err
		}
		_, err = io.Copy(w, resp.Body)
		return errors.Join(err, resp.Body.Close())
	})
	switch {
	case err == nil:
		return nil
	case !o.EnableDebug:
		return fmt.Errorf("profile consul: %w (the option enable_debug is off)", err)
	}
	return fmt.Errorf("profile consul: %w", err)
}
