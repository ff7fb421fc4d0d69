// Package diskcheck measures whether a disk stores appends fast enough for a key-value
// store: it writes as stores write their logs, and compares the times with etcd's
// published guidance.
package diskcheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/coreos/dbtester/pkg/results/histogram"
)

// The pattern of the writes. Sizes are drawn evenly from [MinAppend, MaxAppend] with one
// seed, so each check appends the same sizes in the same order.
const (
	MinAppend = 2 << 10
	MaxAppend = 10 << 10
	// SegmentBytes are allocated before they are written, as etcd does for its
	// write-ahead log. A full log is emptied and allocated again.
	SegmentBytes = 64 << 20

	seed       = 1
	noiseBytes = 64 << 10
)

// DefaultDuration gives a p99.9 enough samples on a disk that needs 3 ms for one.
const DefaultDuration = 30 * time.Second

// Log is the file that is measured. Measure calls its methods one after the other, Renew
// first.
type Log interface {
	// Append writes p at the end, and does not change p.
	Append(p []byte) error
	// Sync returns when all that was appended is stored, as fdatasync(2) does.
	Sync() error
	// Renew empties the log and allocates [SegmentBytes] for it. It is not measured.
	Renew() error
}

// Options bound a check.
type Options struct {
	// Duration is how long appends begin. The last one ends later, and there is always
	// one. An append that hangs cannot be interrupted, also not by the context.
	Duration time.Duration
	// Count, if positive, ends the check earlier, after that many appends.
	Count int64
}

// Result are the times of one check.
type Result struct {
	// Appends have Bytes in all. Busy is the time that appends and syncs took together,
	// without that of renewals.
	Appends int64         `json:"appends"`
	Bytes   int64         `json:"bytes"`
	Busy    time.Duration `json:"busy_ns"`
	// Sync are the times of fdatasync alone, as etcd_disk_wal_fsync_duration_seconds has
	// them. Both are those of an append and its fdatasync.
	Sync Times `json:"fdatasync"`
	Both Times `json:"append_and_fdatasync"`
}

// Times are percentiles of N times, known to 0.1 %, and the longest, which is exact. A
// percentile may have too few samples: see [histogram.Enough].
type Times struct {
	N       int64         `json:"n"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	P999    time.Duration `json:"p99_9_ns"`
	Longest time.Duration `json:"longest_ns"`
}

// SyncsPerSecond is how many appends were stored in each second of Busy.
func (r Result) SyncsPerSecond() float64 { return perSecond(r.Appends, r.Busy) }

// BytesPerSecond is how many bytes were stored in each second of Busy.
func (r Result) BytesPerSecond() float64 { return perSecond(r.Bytes, r.Busy) }

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// Measure appends to the log until the options' bounds and returns the times. It returns
// the first error of the log without times, and the context's cause with the times until
// then, if there are any.
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

// meter measures appends. Its zero value is ready.
type meter struct {
	n, bytes   int64
	busy       time.Duration
	sync, both stopwatch
}

// append stores p and records how long that took.
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

// result has no times before the first append.
func (m *meter) result() Result {
	if m.n == 0 {
		return Result{}
	}
	return Result{Appends: m.n, Bytes: m.bytes, Busy: m.busy, Sync: m.sync.times(), Both: m.both.times()}
}

// stopwatch collects times. Its zero value is empty.
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

// times returns the percentiles. There must be a time.
func (s *stopwatch) times() Times {
	// A percentile is the greatest value of its bucket, which may be above the longest.
	at := func(q float64) time.Duration {
		return min(time.Duration(histogram.Quantile(s.histogram, q)), s.longest)
	}
	return Times{N: s.histogram.TotalCount(), P50: at(.5), P99: at(.99), P999: at(.999), Longest: s.longest}
}

// draw makes what is appended. The bytes are noise, because some disks and file systems
// compress, or find equal blocks.
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

// next returns the bytes of the next append. They are not to be changed.
func (d *draw) next() []byte {
	size := MinAppend + d.random.IntN(MaxAppend-MinAppend+1)
	from := d.random.IntN(len(d.noise) - size + 1)
	return d.noise[from : from+size]
}
