package databasetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/workload"
)

// Heard holds events for some watchers, except events without a change. It is safe for concurrent
// use.
type Heard struct {
	mu     sync.Mutex
	events []database.WatchEvent
	broken error
}

// Receive keeps the events. Events from the future break the connection.
func (h *Heard) Receive(at time.Time, events []database.WatchEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if at.IsZero() || time.Since(at) < 0 {
		h.broken = fmt.Errorf("events arrived at %v, which is not now", at)
	}
	for _, e := range events {
		if !e.Woken {
			e.Key, e.Value = bytes.Clone(e.Key), bytes.Clone(e.Value)
			h.events = append(h.events, e)
		}
	}
}

// Broken keeps the last error.
func (h *Heard) Broken(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = err
}

// Of returns a watcher's events, and why its connection ended.
func (h *Heard) Of(watcher int32) ([]database.WatchEvent, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.events), func(e database.WatchEvent) bool { return e.Watcher != watcher }), h.broken
}

// watchedPrefix has keys watched while other cases run, which have no keys below it.
const watchedPrefix = "shared/run-3"

// watchesCase: with each kind of watch, watchers of a key, of all keys and, if possible, of ranges
// receive every later write below the prefix, in order and once. If the kind coalesces, they
// receive the last write. Earlier writes and writes outside are not reported. A barrier ends the
// wait. Kinds that the suite options do not have are skipped.
func watchesCase(t *testing.T, f *fixture) {
	prefix := ""
	switch {
	case watchesWait(f):
		prefix = watchedPrefix
	case f.open():
		prefix = ourPrefix
	}
	for _, usual := range f.info().Watches {
		f.part(t, string(usual.Kind), func(t *testing.T) {
			facts := database.WatchFactsOf(f.info(), f.driver, usual.Kind)
			if facts == nil {
				t.Log("with these options there are no watches of this kind")
				return
			}
			watchesOf(t, f, facts, prefix)
			heldWatch(t, f, facts, prefix)
			resumedWatches(t, f, facts, prefix)
		})
	}
}

// beside opens a connection for keys below another prefix, or returns nil unless open.
func beside(t *testing.T, f *fixture, prefix string, open bool) database.Client {
	if !open {
		return nil
	}
	target := f.Target()
	target.Prefix = prefix
	return f.dial(t, target)
}

// watchedKeys are watchers on their own connections.
type watchedKeys struct {
	heard *Heard
	on    []database.Watches
	after []int64
}

// watchKeys adds watchers; nil means that this release has no such watches.
func watchKeys(t *testing.T, f *fixture, kind database.WatchKind, target database.Target, ranges []database.WatchRange) *watchedKeys {
	t.Helper()
	w := &watchedKeys{heard: &Heard{}}
	for i, r := range ranges {
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		target.Prefer = i % len(target.Endpoints)
		on, err := f.driver.(database.WatchDialer).DialWatches(ctx, target, kind, w.heard)
		if err != nil {
			t.Fatalf("dial for watches: %v", err)
		}
		w.on = append(w.on, on)
		t.Cleanup(func() {
			if err := w.on[i].Close(); err != nil {
				t.Errorf("close watches: %v", err)
			}
		})
		after, err := on.Add(ctx, int32(i), r)
		if errors.Is(err, errors.ErrUnsupported) {
			cancel()
			return nil
		}
		if err != nil {
			t.Fatalf("add a watcher: %v", err)
		}
		cancel()
		w.after = append(w.after, after)
	}
	return w
}

// caughtUp reads the key that was written last from each member. Watchers on a member that is
// behind would rightly receive writes answered before.
func caughtUp(t *testing.T, f *fixture, target database.Target, key []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	for target.Prefer = range target.Endpoints {
		if _, err := f.dial(t, target).Get(ctx, key, workload.ReadLinearizable); err != nil {
			t.Fatalf("read from member %d: %v", target.Prefer, err)
		}
	}
}

// watchesOf runs the case for one kind.
func watchesOf(t *testing.T, f *fixture, facts *database.WatchFacts, prefix string) {
	target := f.Target()
	target.Prefix = prefix
	const writes = 50
	ours, other, theirs := []byte("watched-1"), []byte("watched-2"), []byte("watched-1")
	client, outside := f.dial(t, target), beside(t, f, prefix+"0", prefix != "")
	put := func(c database.Client, key []byte, n int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		defer cancel()
		if err := c.Put(ctx, key, fmt.Appendf(nil, "value-%03d", n)); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	put(client, ours, 0)
	put(client, other, 0)
	ranges := []database.WatchRange{{Key: ours}}
	if facts.Ranges {
		ranges = append(ranges, database.WatchRange{})
	}
	if facts.NoParts == "" {
		ranges = append(ranges, database.WatchRange{Key: []byte("watched-0"), End: append(bytes.Clone(ours), 0)}, database.WatchRange{Key: other, End: []byte("watched-3")})
	}
	caughtUp(t, f, target, other)
	w := watchKeys(t, f, facts.Kind, target, ranges)
	if w == nil {
		t.Logf("this release has no %s watches", facts.Kind)
		return
	}
	for n := 1; n <= writes; n++ {
		put(client, ours, n)
		put(client, other, n)
		if prefix != "" {
			put(outside, theirs, n)
		}
	}
	for i, on := range w.on {
		ctx, cancel := context.WithTimeout(t.Context(), opWithin)
		if err := on.Barrier(ctx); err != nil {
			t.Fatalf("wait for all events: %v", err)
		}
		cancel()
		keys := [][]byte{ours, other}
		if r := ranges[i]; r.Key != nil {
			keys = slices.DeleteFunc(keys, func(key []byte) bool {
				return r.End == nil && !bytes.Equal(key, r.Key) || r.End != nil && (bytes.Compare(key, r.Key) < 0 || bytes.Compare(key, r.End) >= 0)
			})
		}
		events, broken := w.heard.Of(int32(i))
		if broken != nil {
			t.Fatalf("the connection of watcher %d broke: %v", i, broken)
		}
		checkHeard(t, facts, events, keys, w.after[i], writes)
	}
}

// heldWatch: a held connection reports nothing from its next report on, and afterwards everything.
func heldWatch(t *testing.T, f *fixture, facts *database.WatchFacts, prefix string) {
	target := f.Target()
	target.Prefix = prefix
	client, key := f.dial(t, target), []byte("watched-held")
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	put := func(value string) {
		t.Helper()
		if err := client.Put(ctx, key, []byte(value)); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	put("first")
	w := watchKeys(t, f, facts.Kind, target, []database.WatchRange{{Key: key}})
	if w == nil {
		return
	}
	holder, can := w.on[0].(database.Holder)
	if !can {
		t.Fatalf("connections of %s watches cannot be held", facts.Kind)
	}
	// A lagging member also reports the first write.
	if err := w.on[0].Barrier(ctx); err != nil {
		t.Fatalf("wait for what was written before: %v", err)
	}
	events, _ := w.heard.Of(0)
	before := len(events)
	until := make(chan struct{})
	holder.Hold(until)
	release := sync.OnceFunc(func() { close(until) })
	defer release()
	put("second")
	for {
		events, broken := w.heard.Of(0)
		if broken != nil || ctx.Err() != nil {
			t.Fatalf("wait for the report of a write: %v, %v", broken, ctx.Err())
		}
		if len(events) > before {
			break
		}
		sleep.For(ctx, time.Millisecond)
	}
	put("third")
	if events, _ := w.heard.Of(0); len(events) != before+1 {
		t.Errorf("%d events while the connection is held, want 1", len(events)-before)
	}
	release()
	if err := w.on[0].Barrier(ctx); err != nil {
		t.Fatalf("wait for all events: %v", err)
	}
	if events, broken := w.heard.Of(0); len(events) != before+2 || broken != nil {
		t.Errorf("%d events after the connection was held, want 2; it broke: %v", len(events)-before, broken)
	}
}

// resumedWatches: watchers on a closed connection continue over another one after any version,
// whether or not keys changed meanwhile, and a barrier ends after the changes that they missed.
func resumedWatches(t *testing.T, f *fixture, facts *database.WatchFacts, prefix string) {
	target := f.Target()
	target.Prefix = prefix
	client, key, quiet := f.dial(t, target), []byte("watched-resumed"), []byte("watched-quiet")
	ctx, cancel := context.WithTimeout(t.Context(), 3*opWithin)
	defer cancel()
	put := func(key []byte, n int) {
		t.Helper()
		if err := client.Put(ctx, key, fmt.Appendf(nil, "value-%03d", n)); err != nil {
			t.Fatalf("put: %v", err)
		}
	}
	put(key, 0)
	put(quiet, 0)
	ranges := []database.WatchRange{{Key: key}, {Key: quiet}}
	if facts.Ranges {
		ranges = append(ranges, database.WatchRange{})
	}
	caughtUp(t, f, target, quiet)
	w := watchKeys(t, f, facts.Kind, target, ranges)
	if w == nil {
		return
	}
	for i, on := range w.on {
		if _, can := on.(database.WatchResumer); can != (facts.NoResume == "") {
			t.Fatalf("connections of %s watches resume: %v, and the facts' reason why not is %q", facts.Kind, can, facts.NoResume)
		}
		if facts.NoResume != "" {
			return
		}
		if err := on.Barrier(ctx); err != nil {
			t.Fatalf("wait for what was written before watcher %d: %v", i, err)
		}
	}
	const rounds, writes = 3, 20
	number := 0
	for range rounds {
		for range writes {
			number++
			put(key, number)
		}
		for i := range w.on {
			if !w.resume(ctx, t, f, facts, target, int32(i), ranges[i], func() {
				for range writes {
					number++
					put(key, number)
				}
			}) {
				t.Log("watchers of this release cannot resume")
				return
			}
		}
	}
	for i, on := range w.on {
		if err := on.Barrier(ctx); err != nil {
			t.Fatalf("wait for all events: %v", err)
		}
		events, broken := w.heard.Of(int32(i))
		if broken != nil {
			t.Fatalf("the connection of watcher %d broke: %v", i, broken)
		}
		if i == 1 {
			if events = slices.DeleteFunc(events, func(e database.WatchEvent) bool { return e.Version <= w.after[i] }); len(events) > 0 {
				t.Errorf("the watcher of a quiet key has %d events, want none: %+v", len(events), events)
			}
			continue
		}
		checkHeard(t, facts, events, [][]byte{key}, w.after[i], number)
	}
}

// resume closes a watcher's connection, calls meanwhile and continues over another connection. A
// barrier over it ends after all changes. It reports false for a release that cannot do that.
func (w *watchedKeys) resume(ctx context.Context, t *testing.T, f *fixture, facts *database.WatchFacts, target database.Target, watcher int32, r database.WatchRange, meanwhile func()) bool {
	t.Helper()
	if err := w.on[watcher].Close(); err != nil {
		t.Fatalf("close watches: %v", err)
	}
	meanwhile()
	events, _ := w.heard.Of(watcher)
	after := w.after[watcher]
	for _, e := range events {
		after = max(after, e.Version)
	}
	target.Prefer = int(watcher) % len(target.Endpoints)
	on, err := f.driver.(database.WatchDialer).DialWatches(ctx, target, facts.Kind, w.heard)
	if err != nil {
		t.Fatalf("dial for watches: %v", err)
	}
	w.on[watcher] = on
	err = on.(database.WatchResumer).Resume(ctx, watcher, r, after)
	if errors.Is(err, errors.ErrUnsupported) {
		return false
	}
	if err != nil {
		t.Fatalf("resume watcher %d after version %d: %v", watcher, after, err)
	}
	if err := on.Barrier(ctx); err != nil {
		t.Fatalf("wait for what was missed: %v", err)
	}
	return true
}

// checkHeard fails unless events cover all writes of some keys.
func checkHeard(t *testing.T, facts *database.WatchFacts, events []database.WatchEvent, keys [][]byte, after int64, writes int) {
	t.Helper()
	last := map[string]int{}
	for i, e := range events {
		if !slices.ContainsFunc(keys, func(key []byte) bool { return bytes.Equal(key, e.Key) }) {
			t.Errorf("event %d is of the key %q, want one of %q", i, e.Key, keys)
			continue
		}
		if e.Version <= after || facts.Ordered && i > 0 && e.Version <= events[i-1].Version {
			t.Errorf("event %d has version %d, want more than %d and than that of the event before", i, e.Version, after)
		}
		number := last[string(e.Key)] + 1
		if facts.Values {
			if _, err := fmt.Sscanf(string(e.Value), "value-%d", &number); err != nil {
				t.Errorf("event %d has the value %q: %v", i, e.Value, err)
			}
		}
		if number <= last[string(e.Key)] || !facts.Coalesces && number != last[string(e.Key)]+1 {
			t.Errorf("event %d of %q is of write %d after %d", i, e.Key, number, last[string(e.Key)])
		}
		last[string(e.Key)] = number
	}
	for _, key := range keys {
		if last[string(key)] != writes {
			t.Errorf("the last event of %q is of write %d, want %d; there are %d events", key, last[string(key)], writes, len(events))
		}
	}
}

// watchFacts: a database has the facts about its watches, or the reason why it has no watches.
// Kinds without values need clients that know the versions they wrote.
func watchFacts(t *testing.T, f *fixture) {
	_, dials := f.driver.(database.WatchDialer)
	info := f.info()
	if dials != (len(info.Watches) > 0) || dials == (info.NoWatches != "") {
		t.Fatalf("the driver dials watches: %v; it must have facts of them (%d) or the reason why not (%q)", dials, len(info.Watches), info.NoWatches)
	}
	for _, facts := range append(slices.Clone(info.Watches), database.WatchesOf(info, f.driver)...) {
		if facts.Kind == "" || facts.How == "" {
			t.Errorf("the facts of watches are incomplete: %+v", facts)
		}
	}
}
