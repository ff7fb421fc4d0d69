package consul

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
)

var (
	_ database.WatchDialer  = (*Options)(nil)
	_ database.Watches      = (*watches)(nil)
	_ database.Holder       = (*watches)(nil)
	_ database.WatchResumer = (*watches)(nil)
)

// watchFacts returns the facts about blocking queries.
func watchFacts() []database.WatchFacts {
	return []database.WatchFacts{{
		Kind: database.WatchBlocking, How: "blocking queries of Consul's own client, over a connection of each watcher; one of all keys is answered with all of them",
		Ordered: true, Coalesces: true, Values: true, Ranges: true, Conns: true,
		NoParts: "a query is of one key, or of all that begin with a text",
	}}
}

// mostWatched bounds the answer to a query, in bytes.
const mostWatched = 256 << 20

// watches is one watcher and its connection.
type watches struct {
	api    *api.Client
	http   *http.Client
	prefix string
	to     database.Receiver
	held   database.Hold
	ctx    context.Context // for the queries
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu      sync.Mutex
	name    string        // watched
	one     bool          // name is a key, not a prefix
	seen    uint64        // the greatest reported index of a key
	changed chan struct{} // closed when seen has changed
	over    error         // why the watcher has ended
}

// DialWatches makes a client for the preferred or else the first member.
func (o *Options) DialWatches(ctx context.Context, t database.Target, _ database.WatchKind, to database.Receiver) (database.Watches, error) {
	const conns = 2 // one query, and a barrier request
	transport, err := standard(t.TLS, mostWatched, conns)
	if err != nil {
		return nil, fmt.Errorf("dial for watches: %w", err)
	}
	w := &watches{prefix: t.KeyPrefix(), to: to, changed: make(chan struct{})}
	client, config, err := library(t, max(t.Prefer, 0), stamped{transport})
	if err != nil {
		return nil, fmt.Errorf("dial for watches: %w", err)
	}
	w.api, w.http = client, config.HttpClient
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return w, nil
}

// arrived is the context key under which [stamped] records when an answer was complete.
type arrived struct{}

// stamped reads a complete answer before it is decoded.
type stamped struct{ *kvTransport }

func (s stamped) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.kvTransport.RoundTrip(r)
	at, ok := r.Context().Value(arrived{}).(*time.Time)
	if err != nil || !ok {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	*at = time.Now()
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// query returns the watched keys, and the index of the answer. It waits for a change after the
// index in o, unless that is 0.
func (w *watches) query(ctx context.Context, o api.QueryOptions) (pairs api.KVPairs, index uint64, at time.Time, err error) {
	ctx = context.WithValue(ctx, arrived{}, &at)
	var meta *api.QueryMeta
	if w.one {
		var pair *api.KVPair
		if pair, meta, err = w.api.KV().Get(w.name, o.WithContext(ctx)); pair != nil {
			pairs = api.KVPairs{pair}
		}
	} else {
		pairs, meta, err = w.api.KV().List(w.name, o.WithContext(ctx))
	}
	if err != nil {
		return nil, 0, at, classify(ctx, err)
	}
	return pairs, meta.LastIndex, at, nil
}

// Add begins the queries. It is called once.
func (w *watches) Add(ctx context.Context, watcher int32, r database.WatchRange) (after int64, err error) {
	if err := w.setName(r); err != nil {
		return 0, err
	}
	pairs, index, _, err := w.query(ctx, api.QueryOptions{})
	if err != nil {
		return 0, fmt.Errorf("query keys: %w", err)
	}
	w.see(greatest(pairs))
	w.begin(watcher, index)
	return int64(index), nil
}

// Resume begins the queries after an index. It is called once, instead of Add.
func (w *watches) Resume(_ context.Context, watcher int32, r database.WatchRange, after int64) error {
	if err := w.setName(r); err != nil {
		return err
	}
	w.see(uint64(after))
	w.begin(watcher, uint64(after))
	return nil
}

// setName sets the watched key or prefix.
func (w *watches) setName(r database.WatchRange) error {
	w.name, w.one = w.prefix, r.Key != nil
	if w.one {
		name, err := encodeKey(r.Key)
		if err != nil {
			return database.NotApplied(database.ClassOther, err)
		}
		w.name += name
	}
	return nil
}

// begin begins the queries after an index up to which everything is known.
func (w *watches) begin(watcher int32, index uint64) {
	w.tasks.Go(func() {
		if err := w.watch(watcher, index); err != nil && w.ctx.Err() == nil {
			w.mu.Lock()
			w.over = err
			w.mu.Unlock()
			w.see(0)
			w.to.Broken(err)
		}
	})
}

// watch repeats the query.
func (w *watches) watch(watcher int32, index uint64) error {
	last := index // up to which all keys were reported
	var events []database.WatchEvent
	for {
		pairs, now, at, err := w.query(w.ctx, api.QueryOptions{WaitIndex: max(index, 1)})
		switch {
		case w.ctx.Err() != nil:
			return nil
		case inTrouble(err): // members elect a leader
			if !sleep.For(w.ctx, roundTrip) {
				return nil
			}
			continue
		case err != nil:
			return fmt.Errorf("query keys: %w", err)
		}
		events = events[:0]
		for _, p := range pairs {
			if p.ModifyIndex > last {
				events = append(events, database.WatchEvent{Watcher: watcher, Key: w.keyOf(p.Key), Value: p.Value, Version: int64(p.ModifyIndex)})
			}
		}
		// A list is in key order.
		slices.SortFunc(events, func(a, b database.WatchEvent) int { return cmp.Compare(a.Version, b.Version) })
		if len(events) == 0 && now != index { // else the query ended by its time limit
			events = append(events, database.WatchEvent{Watcher: watcher, Woken: true})
		}
		if len(events) > 0 {
			w.to.Receive(at, events)
			w.held.Wait()
		}
		seen := greatest(pairs)
		last = max(last, seen)
		if now < index { // Consul indexes may fall, for example after a restore
			now = 0
		}
		index = now
		w.see(seen)
	}
}

// greatest returns the greatest index of the keys.
func greatest(pairs api.KVPairs) (index uint64) {
	for _, p := range pairs {
		index = max(index, p.ModifyIndex)
	}
	return index
}

// keyOf returns the key that is stored under a name.
func (w *watches) keyOf(name string) []byte {
	return []byte(decodeKey(strings.TrimPrefix(name, w.prefix)))
}

// see records the index up to which keys were reported.
func (w *watches) see(index uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = max(w.seen, index)
	close(w.changed)
	w.changed = make(chan struct{})
}

// Barrier reads the watched keys from the leader, and waits until their state was reported.
func (w *watches) Barrier(ctx context.Context) error {
	pairs, _, _, err := w.query(ctx, api.QueryOptions{RequireConsistent: true})
	if err != nil {
		return fmt.Errorf("read the watched keys: %w", err)
	}
	for until := greatest(pairs); ; {
		w.mu.Lock()
		seen, changed, over := w.seen, w.changed, w.over
		w.mu.Unlock()
		switch {
		case seen >= until:
			return nil
		case over != nil:
			return over
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Hold makes the watcher begin no further query until the channel is closed.
func (w *watches) Hold(until <-chan struct{}) { w.held.Set(until) }

// Close ends the queries and closes the connections.
func (w *watches) Close() error {
	w.cancel()
	w.tasks.Wait()
	w.http.CloseIdleConnections()
	return nil
}
