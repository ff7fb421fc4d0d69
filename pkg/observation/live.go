package observation

import (
	"errors"
	"math"
	"sync"
	"time"
)

// Live is a recorder whose seconds are written while it records: it keeps only those that are not over
// for a while, and a killed process leaves the others. Close must be called once. The other methods are
// safe for concurrent use before it.
type Live struct {
	*Recorder
	stream *Stream
	end    chan struct{}
	writes sync.WaitGroup
}

// OpenFor is how long after its end a second stays open for late observations. Those that come
// later are written as another row for their second.
const OpenFor = 5 * time.Second

// NewLive returns a recorder that writes the files of g in dir, the folder of a tag. Observations
// must not belong to a second before the one that contains start.
func NewLive(g Group, dir string, start time.Time) *Live { return newLive(g, dir, start, time.Second) }

func newLive(g Group, dir string, start time.Time, every time.Duration) *Live {
	l := &Live{Recorder: NewRecorder(g), stream: NewStream(g, dir, start.Truncate(time.Second)), end: make(chan struct{})}
	l.writes.Go(func() {
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		for {
			select {
			case <-l.end:
				return
			case now := <-ticks.C:
				// The stream keeps the error for Close.
				_ = l.stream.Write(l.Take(now.Add(-OpenFor).Unix()))
			}
		}
	})
	return l
}

// Close writes the observations that are left, and closes the files. It returns the first error
// from any write.
func (l *Live) Close() error {
	close(l.end)
	l.writes.Wait()
	return errors.Join(l.stream.Write(l.Take(math.MaxInt64)), l.stream.Close())
}

// Stream returns the written seconds. It must not be called before Close.
func (l *Live) Stream() *Stream { return l.stream }
