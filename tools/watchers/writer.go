package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// writer puts at a rate with etcd's own client.
type writer struct {
	rate int // a second

	mu     sync.Mutex
	took   []time.Duration // from when a write was due
	failed int
}

// write writes until ctx ends, through all members in turn.
func (w *writer) write(ctx context.Context, members []string) {
	var clients []*clientv3.Client
	for i := range members {
		c, err := clientv3.New(clientv3.Config{Endpoints: members[i : i+1], DialTimeout: 5 * time.Second})
		if err != nil {
			w.failed++
			return
		}
		defer c.Close()
		clients = append(clients, c)
	}
	const atOnce = 20
	dues := make(chan time.Time, 1024) // ten seconds of writes: who is so late is late in its own times
	var writers sync.WaitGroup
	value := strings.Repeat("v", 256)
	for n := range atOnce {
		writers.Go(func() {
			for due := range dues {
				// A write that has begun is not given up at the end: it would count as failed.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
				_, err := clients[n%len(clients)].Put(ctx, "second-writer", value)
				cancel()
				w.add(time.Since(due), err)
			}
		})
	}
	began := time.Now()
	for i := 0; ; i++ {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(w.rate))
		select {
		case <-ctx.Done():
			close(dues)
			writers.Wait()
			return
		case <-time.After(time.Until(due)):
			dues <- due
		}
	}
}

// add counts a write that has ended.
func (w *writer) add(took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failed++
		return
	}
	w.took = append(w.took, took)
}

// percentile is the smallest time that a share of the writes did not exceed, in milliseconds.
func (w *writer) percentile(share float64) float64 {
	sorted := slices.Sorted(slices.Values(w.took))
	return float64(sorted[max(int(share*float64(len(sorted))+0.999999)-1, 0)]) / float64(time.Millisecond)
}
