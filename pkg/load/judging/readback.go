package judging

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/coreos/dbtester/pkg/consistency"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

// Back describes how written keys are read back.
type Back struct {
	// Mode is the strongest read mode in the database.
	Mode workload.ReadMode
	// Connections is the number of keys read at the same time, and Within bounds the total time.
	Connections int
	Within      time.Duration
	// Rate is the most reads in a second over all connections; 0 is no bound.
	Rate float64
	// Longest is the longest time for a read; a read that takes longer or fails is the last one.
	// 0 means no bound.
	Longest time.Duration
}

// exceeded returns why a key read is the last one, nil if it is not.
func (b *Back) exceeded(key int64, took time.Duration, err error) error {
	switch {
	case b.Longest <= 0:
		return nil
	case err != nil:
		return fmt.Errorf("the guard ends it: read back key %d: %w", key, err)
	case took > b.Longest:
		return fmt.Errorf("the guard ends it: a read took %v, the bound is %v", took.Round(10*time.Microsecond), b.Longest)
	}
	return nil
}

// pace spaces reads out. It is safe for concurrent use.
type pace struct {
	every time.Duration // 0 for no spaces
	mu    sync.Mutex
	next  time.Time
}

func newPace(rate float64) *pace {
	if rate <= 0 {
		return &pace{}
	}
	return &pace{every: time.Duration(min(float64(time.Second)/rate, float64(time.Hour)))}
}

// await waits until a read is due, and returns false if ctx ended first. Unused time is not made up
// for.
func (p *pace) await(ctx context.Context) bool {
	if p.every == 0 {
		return ctx.Err() == nil
	}
	return sleep.For(ctx, p.turn(time.Now()))
}

// turn returns the time from now until the next read.
func (p *pace) turn(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now
	if p.next.After(now) {
		at = p.next
	}
	p.next = at.Add(p.every)
	return at.Sub(now)
}

// ReadBack reads all written keys, one at a time over each connection, until ctx ends. It does
// not use b.Connections and b.Within. Call it after Finish. The error is the bound that ended
// reading, or comes from the first failed read, after which other keys were read.
func (l *Load) ReadBack(ctx context.Context, conns []database.Client, b Back) (consistency.HeldKeys, error) {
	keys := slices.Collect(l.judge.Written())
	found, reads := make([]answer, len(keys)), newPace(b.Rate)
	bounded, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var workers sync.WaitGroup
	for n, conn := range conns {
		workers.Go(func() {
			for i := n; i < len(keys) && reads.await(bounded); i += len(conns) {
				from := time.Now()
				found[i] = l.read(bounded, conn, keys[i], b.Mode)
				if why := b.exceeded(keys[i], time.Since(from), found[i].err); why != nil {
					stop(why)
				}
			}
		})
	}
	workers.Wait()
	h := consistency.HeldKeys{Keys: int64(len(keys))}
	var failed error
	if ctx.Err() == nil {
		failed = context.Cause(bounded)
	}
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

// answer is what reading a key back gave.
type answer struct {
	read, wrong bool
	value       int64
	err         error
}

// read reads a key back. A read ended by ctx has no answer and no error.
func (l *Load) read(ctx context.Context, conn database.Client, key int64, mode workload.ReadMode) answer {
	value, err := conn.Get(ctx, requests.AppendKey(nil, &l.opts.Spec.Load, key), mode)
	switch {
	case errors.Is(err, database.ErrNotFound):
		return answer{read: true, value: consistency.Absent}
	case err != nil && ctx.Err() != nil:
		return answer{}
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
