package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/dbtester/pkg/database"
)

// Preload writes the keys that exist before a load: spec.Keys of them, or the one
// key of a load that uses the same key. Nothing is recorded; progress may be nil.
func Preload(ctx context.Context, spec Spec, clients int, conns []database.Client, progress func(Progress)) error {
	n := spec.Keys
	if spec.SameKey {
		n = 1
	}
	if n < 1 {
		return nil
	}
	spec.Operation, spec.Mix, spec.Keys, spec.FirstKey, spec.WarmUp, spec.CoolDown = database.OpWrite, nil, 0, 0, 0, 0
	clients = int(min(int64(clients), n))
	seen := &firstError{}
	rec := NewRecorder(seen, spec.Operations(), progress)
	// Requests -n to -1 write keys 0 to n-1. A value follows from key and request, so
	// no request of the load writes again what is there already: some databases make
	// nothing of a write that changes nothing.
	e := NewEngine(spec, rec)
	e.next, e.spec.FirstKey = -n, n
	if _, err := e.Step(ctx, Step{Clients: clients, Requests: n}, conns[:min(len(conns), clients)]); err != nil {
		return fmt.Errorf("write %d keys before the load: %w", n, err)
	}
	if t := rec.Totals(); t.OK != n {
		return fmt.Errorf("write %d keys before the load: %d failed: %w", n, n-t.OK, seen.err)
	}
	return nil
}

// firstError is a sink that keeps the first error of a load and nothing else.
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
