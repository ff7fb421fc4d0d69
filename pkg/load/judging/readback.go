package judging

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

// ReadBack reads all keys that were written, one at a time over each connection, until ctx ends.
// Call it after Finish. The error is that of the first failed read; other keys were read.
func (l *Load) ReadBack(ctx context.Context, conns []database.Client, mode workload.ReadMode) (consistency.HeldKeys, error) {
	keys := slices.Collect(l.judge.Written())
	found := make([]answer, len(keys))
	var workers sync.WaitGroup
	for n, conn := range conns {
		workers.Go(func() {
			for i := n; i < len(keys) && ctx.Err() == nil; i += len(conns) {
				found[i] = l.read(ctx, conn, keys[i], mode)
			}
		})
	}
	workers.Wait()
	h := consistency.HeldKeys{Keys: int64(len(keys))}
	var failed error
	for i, a := range found {
		switch {
		case a.err != nil && failed == nil:
			failed = fmt.Errorf("read back key %d: %w", keys[i], a.err)
		case a.read:
			count(&h, l.judge, keys[i], a)
		}
	}
	return h, failed
}

// answer is the result of reading a key back.
type answer struct {
	read, wrong bool
	value       int64
	err         error
}

func (l *Load) read(ctx context.Context, conn database.Client, key int64, mode workload.ReadMode) answer {
	value, err := conn.Get(ctx, requests.AppendKey(nil, &l.opts.Spec.Load, key), mode)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return answer{read: true, value: consistency.Absent}
	case err != nil:
		return answer{err: err}
	}
	by, err := l.work.CheckKey(value, key)
	return answer{read: true, value: by.Number, wrong: err != nil || !by.Known}
}

// count counts a key by its answer.
func count(h *consistency.HeldKeys, j *consistency.Judge, key int64, a answer) {
	h.Read++
	if a.wrong {
		h.Foreign++
		return
	}
	switch j.ReadBack(key, a.value) {
	case consistency.Older:
		h.Older++
	case consistency.Gone:
		h.Gone++
	case consistency.Foreign:
		h.Foreign++
	case consistency.NotJudged:
		h.NotJudged++
	}
}
