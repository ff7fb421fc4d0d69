// Package diskcheck measures whether a disk stores appends fast enough for a key-value store: it
// writes as stores write their logs, and compares the times with the guidance that etcd publishes.
package diskcheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// Write pattern. Sizes are drawn evenly from [MinAppend, MaxAppend] with a fixed seed, so every
// check appends the same sizes in the same order.
const (
	MinAppend = 2 << 10
	MaxAppend = 10 << 10
	// SegmentBytes are allocated before they are written, as etcd does for its write-ahead log. A
	// full log is emptied and allocated again.
	SegmentBytes = 64 << 20

	seed       = 1
	noiseBytes = 64 << 10
)

// DefaultDuration gives enough samples for a p99.9 on a disk that needs 3 ms per sample.
const DefaultDuration = 30 * time.Second

// Log is the measured file. Measure calls its methods one at a time, Renew first.
type Log interface {
	// Append writes p at the end. It must not modify p.
	Append(p []byte) error
	// Sync returns once everything appended is stored, like fdatasync(2).
	Sync() error
	// Renew empties the log and allocates [SegmentBytes]. It is not measured.
	Renew() error
}

// Options limit a check.
type Options struct {
	// Duration is the time during which appends begin. The last one ends later, and there is always
	// at least one. A hanging append cannot be interrupted, not even by the context.
	Duration time.Duration
	// Count, if positive, ends the check after this many appends.
	Count int64
}

// Result holds the times of one check.
type Result struct {
	// Appends have a total size of Bytes. Busy is the total time for appends and syncs, without
	// renewals.
	Appends int64         `json:"appends"`
	Bytes   int64         `json:"bytes"`
	Busy    time.Duration `json:"busy_ns"`
	// Sync times fdatasync alone, like etcd_disk_wal_fsync_duration_seconds. Both times an append
	// including its fdatasync.
	Sync Times `json:"fdatasync"`
	Both Times `json:"append_and_fdatasync"`
}

// Times has percentiles over N durations, accurate to 0.1 %, and the exact maximum. A percentile
// may have too few samples: see [histogram.Enough].
type Times struct {
	N       int64         `json:"n"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	P999    time.Duration `json:"p99_9_ns"`
	Longest time.Duration `json:"longest_ns"`
}

// SyncsPerSecond returns the number of appends stored per second of Busy.
func (r Result) SyncsPerSecond() float64 { return perSecond(r.Appends, r.Busy) }

// BytesPerSecond returns the number of bytes stored per second of Busy.
func (r Result) BytesPerSecond() float64 { return perSecond(r.Bytes, r.Busy) }

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// Measure appends to the log until a limit in the options is reached, and returns the times. If the
// log fails, it returns that error without times. If the context ends, it returns its cause with
// the times so far, if there are any.
func Measure(ctx context.Context, log Log, o Options) (Result, error) {
	draw := newDraw()
	var m meter
	free := 0
	for begin := time.Now(); m.n == 0 || time.Since(begin) < o.Duration && (o.Count <= 0 || m.n < o.Count); {
		if ctx.Err() != nil {
			return m.result(), context.Cause(ctx)
		}
		p := draw.next()
		if free < len(p) {
			if err := log.Renew(); err != nil {
				return Result{}, err
			}
			free = SegmentBytes
		}
		if err := m.append(log, p); err != nil {
			return Result{}, err
		}
		free -= len(p)
	}
	return m.result(), nil
}

// meter measures appends. The zero value is ready to use.
type meter struct {
	n, bytes   int64
	busy       time.Duration
	sync, both stopwatch
}

// append stores p and records the time it took.
func (m *meter) append(log Log, p []byte) error {
	began := time.Now()
	if err := log.Append(p); err != nil {
		return fmt.Errorf("append %d bytes: %w", len(p), err)
	}
	appended := time.Now()
	if err := log.Sync(); err != nil {
		return fmt.Errorf("fdatasync: %w", err)
	}
	stored := time.Now()
	m.sync.record(stored.Sub(appended))
	m.both.record(stored.Sub(began))
	m.n++
	m.bytes += int64(len(p))
	m.busy += stored.Sub(began)
	return nil
}

// result returns no times before the first append.
func (m *meter) result() Result {
	if m.n == 0 {
		return Result{}
	}
	return Result{Appends: m.n, Bytes: m.bytes, Busy: m.busy, Sync: m.sync.times(), Both: m.both.times()}
}

// stopwatch collects times. The zero value is empty.
type stopwatch struct {
	histogram *hdrhistogram.Histogram
	longest   time.Duration
}

func (s *stopwatch) record(d time.Duration) {
	if s.histogram == nil {
		s.histogram = histogram.New()
	}
	histogram.Record(s.histogram, d)
	s.longest = max(s.longest, d)
}

// times returns the percentiles. There must be at least one time.
func (s *stopwatch) times() Times {
	// A percentile is its bucket's upper end, which may exceed the maximum.
	at := func(q float64) time.Duration {
		return min(time.Duration(histogram.Quantile(s.histogram, q)), s.longest)
	}
	return Times{N: s.histogram.TotalCount(), P50: at(.5), P99: at(.99), P999: at(.999), Longest: s.longest}
}

// draw generates the appended data. It is noise, because some disks and file systems compress data
// or deduplicate blocks.
type draw struct {
	random *rand.Rand
	noise  []byte
}

func newDraw() *draw {
	d := &draw{random: rand.New(rand.NewPCG(seed, seed)), noise: make([]byte, noiseBytes)}
	for i := range d.noise {
		d.noise[i] = byte(d.random.Uint32())
	}
	return d
}

// next returns the data for the next append. Callers must not modify it.
func (d *draw) next() []byte {
	size := MinAppend + d.random.IntN(MaxAppend-MinAppend+1)
	from := d.random.IntN(len(d.noise) - size + 1)
	return d.noise[from : from+size]
}
