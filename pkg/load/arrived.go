package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

// arrivedEvery is how often a key that is not there is read again.
const arrivedEvery = 10 * time.Millisecond

// AwaitKeys waits until the keys that [Preload] wrote can be read over each
// connection in the load's read mode. A member that answers from what it has may
// learn of them after they were acknowledged, and reads would find nothing
// through no fault of the load. Members apply writes in one order, so the keys
// of the last requests of as many clients tell of all.
func AwaitKeys(ctx context.Context, spec Spec, clients int, conns []database.Client) error {
	var last [][]byte
	if spec.SameKey {
		last = append(last, appendSameKey(nil, spec.KeySize))
	} else {
		for i := max(spec.Keys-int64(clients), 0); i < spec.Keys; i++ {
			last = append(last, appendKey(nil, i, spec.KeySize))
		}
	}
	for n, conn := range conns {
		for _, key := range last {
			if err := awaitKey(ctx, conn, key, spec.Read); err != nil {
				return fmt.Errorf("wait on connection %d for the keys before the load: %w", n+1, err)
			}
		}
	}
	return nil
}

// awaitKey reads a key until it is there.
func awaitKey(ctx context.Context, conn database.Client, key []byte, mode database.ReadMode) error {
	again := time.NewTicker(arrivedEvery)
	defer again.Stop()
	for {
		_, err := conn.Get(ctx, key, mode)
		if !errors.Is(err, database.ErrNotFound) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
