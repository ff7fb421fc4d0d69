package loadwire

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// No decoder has two users at a time, and all come back, also after errors.
func TestDecoders(t *testing.T) {
	const decoders, streams, records = 2, 50, 100
	d := NewDecoders(decoders)
	var users sync.Map // *atomic.Int32 by decoder
	failed := errors.New("failed")
	var group sync.WaitGroup
	for range streams {
		group.Go(func() {
			for n := range records {
				err := d.Use(func(one *Decoder) error {
					at, _ := users.LoadOrStore(one, new(atomic.Int32))
					count := at.(*atomic.Int32)
					if count.Add(1) > 1 {
						t.Error("a decoder has two users")
					}
					defer count.Add(-1)
					if n%7 == 0 {
						return failed
					}
					return nil
				})
				if errors.Is(err, failed) != (n%7 == 0) {
					t.Errorf("use %d returns %v", n, err)
				}
			}
		})
	}
	group.Wait()
	if len(d.free) != decoders {
		t.Errorf("%d of %d decoders came back", len(d.free), decoders)
	}
}
