package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

// Preload writes the keys that exist before a load: spec.Keys keys, or the one key in a load that
// uses the same key. One part among several writes its share; clients is the number over all
// parts. Nothing is recorded; progress may be nil.
func Preload(ctx context.Context, spec Spec, clients int, conns []database.Client, progress func(Progress)) error {
	n := spec.Keys
	if spec.SameKey {
		n = 1
	}
	own := spec.Part.From(-n).Count(n)
	if own < 1 {
		return nil
	}
	spec.Operation, spec.Mix, spec.Keys, spec.FirstKey, spec.WarmUp, spec.CoolDown = workload.OpWrite, nil, 0, 0, 0, 0
	clients = max(int(min(int64(clients), n)), spec.Part.Of) // one for each part
	step := Step{Step: workload.Step{Clients: clients, Requests: n}}
	seen := &firstError{}
	rec := NewRecorder(seen, spec.Operations(), progress)
	// Requests -n to -1 write keys 0 to n-1. A value follows from key and request, so no request
	// in the load repeats a preloaded value: some databases skip a write that changes nothing.
	e := NewEngine(spec, rec)
	e.next, e.spec.FirstKey = -n, n
	if _, err := e.Step(ctx, step, conns[:min(len(conns), spec.clients(step))]); err != nil {
		return fmt.Errorf("write %d keys before the load: %w", own, err)
	}
	if t := rec.Totals(); t.OK != own {
		return fmt.Errorf("write %d keys before the load: %d failed: %w", own, own-t.OK, seen.err)
	}
	return nil
}

// firstError is a sink that keeps only the first error.
type firstError struct{ err error }

func (f *firstError) Second(s Second) error {
	for _, e := range s.Errors {
		if f.err == nil && e.FirstText != "" {
			f.err = errors.New(e.FirstText)
		}
	}
	return nil
}

func (f *firstError) Total(Total) error { return nil }

// awaitEvery is the time between two reads for a key without its value.
const awaitEvery = 10 * time.Millisecond

// AwaitKeys waits until each connection can read the values that [Preload] wrote, in the load's
// read mode. A member that serves stale reads may apply a write after it was acknowledged; the load
// would find keys missing, or values from an earlier run. Members apply writes in one order, so it
// is enough to wait for each client's last key.
func AwaitKeys(ctx context.Context, spec Spec, clients int, conns []database.Client) error {
	first, end := max(spec.Keys-int64(clients), 0), spec.Keys
	if spec.SameKey {
		first, end = 0, 1
	}
	if first >= end {
		return nil
	}
	work, err := spec.sequence(clients)
	if err != nil {
		return err
	}
	for n, conn := range conns {
		for i := first; i < end; i++ {
			if err := awaitKey(ctx, conn, &spec, work, i); err != nil {
				return fmt.Errorf("wait for the preloaded keys on connection %d: %w", n+1, err)
			}
		}
	}
	return nil
}

// awaitKey reads a key until it has a value from this load.
func awaitKey(ctx context.Context, conn database.Client, spec *Spec, work *requests.Sequence, number int64) error {
	again := time.NewTicker(awaitEvery)
	defer again.Stop()
	key := requests.AppendKey(nil, &spec.Load, number)
	for {
		value, err := conn.Get(ctx, key, spec.Read)
		if err == nil {
			if _, err = work.CheckKey(value, number); err == nil {
				return nil
			}
		} else if !errors.Is(err, database.ErrNotFound) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
