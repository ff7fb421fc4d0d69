package watch

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/fake/deliver"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/observation"
	"github.com/coreos/dbtester/pkg/sleep"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// The times of writes in the rig: each is due, sent after queued, applied after apply and answered
// after answer.
const (
	queued = 50 * time.Microsecond
	apply  = 200 * time.Microsecond
	answer = 500 * time.Microsecond
)

// rig has watchers on a store in memory, in a bubble.
type rig struct {
	t        *testing.T
	hub      *deliver.Hub
	load     workload.Load
	watching *Watching
	values   bool
	version  int64
	number   int64
	ended    []load.Ended
	all      []load.Ended // that were ever in ended
	blocking *blocking    // nil for a stream
	dialing  func(context.Context) error
	ahead    time.Duration        // the time by which the clock for writes is ahead
	seconds  []observation.Second // that were written
	ends     bool                 // the load ends with the last write, and does not wait for the watchers
}

// stream is a connection to the store.
type stream struct {
	rig    *rig
	queue  *deliver.Queue
	cancel context.CancelFunc
	tasks  sync.WaitGroup
	held   database.Hold

	mu     sync.Mutex
	last   byte // mark
	marked map[byte]chan struct{}
}

func (r *rig) dial(ctx context.Context, _ int, to database.Receiver) (database.Watches, error) {
	if r.dialing != nil {
		if err := r.dialing(ctx); err != nil {
			return nil, err
		}
	}
	if r.blocking != nil {
		return r.blocking.dial(ctx, to), nil
	}
	s := &stream{rig: r, queue: r.hub.Queue(), marked: map[byte]chan struct{}{}}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.tasks.Go(func() {
		s.queue.Run(ctx, func(list []deliver.Delivery) error {
			var events []database.WatchEvent
			report := func() {
				if len(events) > 0 {
					to.Receive(time.Now(), events)
					s.held.Wait()
				}
				events = nil
			}
			for _, d := range list {
				if d.Gap {
					events = append(events, database.WatchEvent{Watcher: d.Watcher, Gap: true, Version: d.Version})
					continue
				}
				if d.Mark != nil {
					report() // a barrier ends after all events before its mark
					s.mu.Lock()
					close(s.marked[d.Mark[0]])
					s.mu.Unlock()
					continue
				}
				e := database.WatchEvent{Watcher: d.Watcher, Key: d.Key, Version: d.Version}
				if r.values {
					e.Value = d.Value
				}
				events = append(events, e)
			}
			report()
			return nil
		})
	})
	return s, nil
}

func (s *stream) Hold(until <-chan struct{}) { s.held.Set(until) }

func (s *stream) Add(_ context.Context, watcher int32, r database.WatchRange) (int64, error) {
	return s.queue.Watch(watcher, deliver.Keys{First: r.Key, End: r.End, Prefix: r.Key == nil}), nil
}

func (s *stream) Resume(_ context.Context, watcher int32, r database.WatchRange, after int64) error {
	s.queue.Resume(watcher, deliver.Keys{First: r.Key, End: r.End, Prefix: r.Key == nil}, after, time.Now())
	return nil
}

func (s *stream) Barrier(ctx context.Context) error {
	s.mu.Lock()
	s.last++
	mark, marked := s.last, make(chan struct{})
	s.marked[mark] = marked
	s.mu.Unlock()
	s.queue.Mark([]byte{mark}, time.Now())
	select {
	case <-marked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stream) Close() error {
	s.rig.hub.Remove(s.queue)
	s.cancel()
	s.tasks.Wait()
	return nil
}

// newRig returns a rig with watchers that have not begun.
func newRig(t *testing.T, law deliver.Law, facts database.WatchFacts, plan watchers.Plan) *rig {
	r := &rig{t: t, hub: deliver.NewHub(law, 0), values: facts.Values}
	r.load.Operation, r.load.Keys, r.load.KeySize, r.load.ValueSize, r.load.Duration = workload.OpUpdate, 4, 8, 64, 10*time.Second
	if plan.Connections == 0 {
		plan.Connections = 3
	}
	r.watching = New(Options{Dial: r.dial, Facts: facts, Plan: plan, Load: &r.load, Workers: 4, Began: func(time.Time, int) {}, Write: func(s []observation.Second) error {
		r.seconds = append(r.seconds, s...)
		return nil
	}})
	return r
}

// value returns the value in a request.
func value(number int64) []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, 0, 64), uint64(number))[:64]
}

// write makes the next request, with an outcome; applied is whether the store has it.
func (r *rig) write(outcome workload.Outcome, applied bool) {
	due := time.Now().Add(r.ahead)
	time.Sleep(queued)
	sent := time.Now().Add(r.ahead)
	time.Sleep(apply)
	key := r.number % r.load.Keys
	e := load.Ended{Number: r.number, Key: key, Due: due.UnixNano(), Sent: sent.UnixNano(), Outcome: outcome, Expected: -1, Version: -1, Change: -1}
	if applied {
		r.version++
		name, v := r.watching.judge.keys.name(key), value(r.number)
		r.hub.Publish(deliver.Change{Key: name, Value: v, Version: r.version}, time.Now())
		if r.blocking != nil {
			r.blocking.set(key, name, v, r.version)
		}
		if !r.values && outcome == workload.OK {
			e.Change = r.version
		}
	}
	time.Sleep(answer - apply)
	e.End = time.Now().Add(r.ahead).UnixNano()
	r.number++
	r.ended, r.all = append(r.ended, e), append(r.all, e)
}

// observed passes the ended requests on, as the engine does each second.
func (r *rig) observed() {
	if err := r.watching.Observe(slices.Clone(r.ended), 0); err != nil {
		r.t.Fatal(err)
	}
	if err := r.watching.Observe(nil, time.Now().Add(r.ahead).UnixNano()); err != nil {
		r.t.Fatal(err)
	}
	r.ended = r.ended[:0]
}

// end ends the watchers.
func (r *rig) end(ctx context.Context) {
	r.t.Helper()
	if err := r.watching.End(ctx); err != nil {
		r.t.Error(err)
	}
}

// run begins the watchers, writes n times and ends.
func (r *rig) run(n int) watchers.Outcome {
	r.t.Helper()
	ctx, end := context.WithCancel(r.t.Context())
	defer end()
	if err := r.watching.Prepare(ctx); err != nil {
		r.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.watching.Run(ctx); err != nil {
			r.t.Error(err)
		}
	})
	synctest.Wait() // the first stage has begun
	for range n {
		r.write(workload.OK, true)
		if len(r.ended) == 500 {
			r.observed()
		}
	}
	if r.ends {
		end()
	}
	running.Wait()
	r.observed()
	r.end(r.t.Context())
	return r.watching.Outcome()
}

var stream1 = database.WatchFacts{Kind: database.WatchStream, Ordered: true, Values: true, Ranges: true}

// byVersion are watches whose events have no value.
var byVersion = database.WatchFacts{Kind: database.WatchPersistent, Ordered: true, Ranges: true}

// If a store reports after 1, 10 and 100 ms, the percentiles are its law's within one hundredth,
// whatever events are matched by, and nothing is wrong.
func TestLaw(t *testing.T) {
	for _, facts := range []database.WatchFacts{stream1, byVersion} {
		for _, delay := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s %v", facts.Kind, delay), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const n, w = 2000, 10
					r := newRig(t, deliver.Law{Delay: delay}, facts, watchers.Plan{Watchers: []int{w}, Of: watchers.All})
					o := r.run(n)
					if want := (watchers.Counts{Writes: n, Delivered: n * w}); o.Counts != want || len(o.Witnesses) > 0 {
						t.Fatalf("counts %+v, witnesses %+v, want %+v", o.Counts, o.Witnesses, want)
					}
					s := o.Stages[0]
					if s.Writes != n || s.Deliveries != n*w || s.Sent.N != n*w || s.Due.N != n*w || s.All.N != n {
						t.Fatalf("the stage is %+v", s)
					}
					if before := delay < answer-apply; before != (s.BeforeAck == n*w) || !before && s.BeforeAck != 0 {
						t.Errorf("%d of %d deliveries came before the answer", s.BeforeAck, n*w)
					}
					near := func(what string, got int64, want time.Duration) {
						if d := time.Duration(got) - want; d < -want/100 || d > want/100 {
							t.Errorf("%s is %v, want %v", what, time.Duration(got), want)
						}
					}
					for _, q := range []int64{s.Sent.P50, s.Sent.P99, s.Sent.P999, s.Sent.Max, s.All.P50, s.All.P99} {
						near("from sent", q, apply+delay)
					}
					near("from due", s.Due.P99, queued+apply+delay)
				})
			})
		}
	}
}

// Each delivery that is lost, made twice or swapped is found, by watcher and version.
func TestLies(t *testing.T) {
	for _, facts := range []database.WatchFacts{stream1, byVersion} {
		for _, lie := range deliver.Lies() {
			t.Run(fmt.Sprintf("%s %s", facts.Kind, lie), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					const n, w = 4000, 25
					r := newRig(t, deliver.Law{Delay: time.Millisecond, Lie: lie, Every: 1009}, facts, watchers.Plan{Watchers: []int{w}, Of: watchers.All})
					o := r.run(n)
					lied := int64(len(r.hub.Lied()))
					want := watchers.Counts{Writes: n, Delivered: n * w}
					switch lie {
					case deliver.Lose:
						want.Lost, want.Delivered = lied, want.Delivered-lied
					case deliver.Double:
						want.Duplicate = lied
					case deliver.Swap:
						want.Reordered = lied
					}
					if o.Counts != want || lied < n*w/1009-w {
						t.Fatalf("counts %+v, want %+v", o.Counts, want)
					}
					if len(o.Witnesses) != min(int(lied), shownFaults) {
						t.Fatalf("%d witnesses of %d lies", len(o.Witnesses), lied)
					}
					for _, one := range o.Witnesses {
						if !slices.ContainsFunc(r.hub.Lied(), func(d deliver.Delivery) bool { return d.Watcher == one.Watcher && d.Version == one.Version }) {
							t.Errorf("nobody lied about version %d to watcher %d", one.Version, one.Watcher)
						}
						if one.Version != one.Request+1 && one.Request >= 0 || one.Key != (one.Version-1)%r.load.Keys {
							t.Errorf("the witness %+v has another request or key", one)
						}
					}
				})
			})
		}
	}
}

// Stages have their own numbers, and watchers that come later are not expected to have received
// earlier events.
func TestStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deliver.Law{Delay: 2 * time.Millisecond}, stream1, watchers.Plan{Watchers: []int{0, 1, 12}, Of: watchers.All})
		o := r.run(18_000) // 9.9 s
		if c := o.Counts; c.Lost+c.Duplicate+c.Reordered+c.Behind+c.Unjudged+c.Foreign > 0 {
			t.Fatalf("counts %+v", c)
		}
		var deliveries int64
		for i, want := range []struct{ watchers, connections, added int }{{0, 0, 0}, {1, 1, 1}, {12, 3, 11}} {
			s := o.Stages[i]
			if s.Watchers != want.watchers || s.Connections != want.connections || s.Added != want.added || s.Deliveries != s.Writes*int64(want.watchers) {
				t.Errorf("stage %d is %+v, want %+v", i, s, want)
			}
			if (s.Writes > 0) != (want.watchers > 0) || s.Length < 3*time.Second {
				t.Errorf("stage %d has %d writes in %v", i, s.Writes, s.Length)
			}
			deliveries += s.Deliveries
		}
		if rest := o.Counts.Delivered - deliveries; rest < 0 || rest > 100 { // to watchers that were added while the write was under way
			t.Errorf("%d of %d deliveries are of no stage", rest, o.Counts.Delivered)
		}
		totals := watchers.Observed().Total(r.seconds)
		if totals[watchers.ValueSent].N != deliveries || totals[watchers.ValueWrites].Value != o.Stages[1].Writes+o.Stages[2].Writes {
			t.Errorf("by second: %+v", totals)
		}
	})
}

// A watcher on one key receives only its writes.
func TestOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deliver.Law{}, stream1, watchers.Plan{Watchers: []int{6}, Of: watchers.Key})
		o := r.run(4000)
		if want := (watchers.Counts{Writes: 4000, Delivered: 6000}); o.Counts != want {
			t.Fatalf("counts %+v, want %+v: 1,000 writes of each of 4 keys, of which 2 have 2 watchers", o.Counts, want)
		}
	})
}

// Watchers on key ranges receive writes in their range alone. Each range has its own sequence: each
// lie is found and nothing else. The last range is shorter.
func TestRanges(t *testing.T) {
	for _, lie := range append(deliver.Lies(), deliver.Honest) {
		t.Run(cmp.Or(string(lie), "honest"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, w = 4000, 8
				r := newRig(t, deliver.Law{Delay: time.Millisecond, Lie: lie, Every: 509}, stream1, watchers.Plan{Watchers: []int{w}, Of: "40%"})
				r.load.Keys = 7 // ranges with 3, 3 and 1 keys
				r.watching = New(r.watching.Options)
				o := r.run(n)
				// Among 8 watchers, 3, 3 and 2 have the ranges.
				deliveries := int64(0)
				for i := range int64(n) {
					deliveries += []int64{3, 3, 2}[i%7/3]
				}
				lied := int64(len(r.hub.Lied()))
				want := watchers.Counts{Writes: n, Delivered: deliveries}
				switch lie {
				case deliver.Lose:
					want.Lost, want.Delivered = lied, want.Delivered-lied
				case deliver.Double:
					want.Duplicate = lied
				case deliver.Swap:
					want.Reordered = lied
				}
				if o.Counts != want || (lied > 0) != (lie != deliver.Honest) {
					t.Fatalf("counts %+v, want %+v", o.Counts, want)
				}
				for _, one := range o.Witnesses {
					if !slices.ContainsFunc(r.hub.Lied(), func(d deliver.Delivery) bool { return d.Watcher == one.Watcher && d.Version == one.Version }) {
						t.Errorf("nobody lied about version %d to watcher %d", one.Version, one.Watcher)
					}
				}
				if s := o.Stages[0]; lie == deliver.Honest && (s.Deliveries != deliveries || s.All.N != n) {
					t.Errorf("the stage is %+v, all heard %+v; want %d deliveries", s, s.All, deliveries)
				}
			})
		})
	}
}

// All watchers on a key receive a write by another writer, each at another time. No delivery is a
// duplicate, whether versions before it are open or not.
func TestOthersHeardLate(t *testing.T) {
	for _, open := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, deliver.Law{}, stream1, watchers.Plan{Watchers: []int{3}, Of: watchers.All})
			ctx := t.Context()
			if err := r.watching.Prepare(ctx); err != nil {
				t.Fatal(err)
			}
			j, want := r.watching.judge, watchers.Counts{Foreign: 3}
			if open {
				want.Writes, want.Lost = 1, 3
				j.observe([]load.Ended{{Key: 1, Change: 1, Sent: 1, Due: 1, End: 2, Outcome: workload.OK}}, 1)
			}
			for id := range int32(3) {
				now := time.Now()
				j.receive(now.UnixNano(), []database.WatchEvent{{Watcher: id, Key: j.keys.name(1), Value: value(0), Version: 2}})
				time.Sleep(time.Second)
				j.observe(nil, now.UnixNano()+1)
			}
			r.end(ctx)
			if got := r.watching.Outcome().Counts; got != want {
				t.Errorf("an open version before: %v; counts %+v, want %+v", open, got, want)
			}
		})
	}
}

// Among very many versions by others the newest are remembered.
func TestOthersAreBounded(t *testing.T) {
	var o others
	s := newSequence()
	for n := range int64(3 * mostOthers) {
		o.add(s, n)
	}
	if len(o.known) != mostOthers || o.has(s, 2*mostOthers-1) || !o.has(s, 2*mostOthers) || o.has(newSequence(), 2*mostOthers) {
		t.Errorf("%d versions are known", len(o.known))
	}
}

// A watcher that receives a key outside its range has received something foreign.
func TestOutsideRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deliver.Law{}, stream1, watchers.Plan{Watchers: []int{2}, Of: "50%"})
		ctx := t.Context()
		if err := r.watching.Prepare(ctx); err != nil {
			t.Fatal(err)
		}
		r.watching.judge.receive(time.Now().UnixNano(), []database.WatchEvent{{Watcher: 0, Key: r.watching.judge.keys.name(3), Value: value(0), Version: 1}})
		r.end(ctx)
		if want := (watchers.Counts{Foreign: 1}); r.watching.Outcome().Counts != want {
			t.Errorf("counts %+v, want %+v", r.watching.Outcome().Counts, want)
		}
	})
}

// Slow watchers get all, later, and their times are apart from the others', which keep the law's
// times. Lies to slow watchers are found as well.
func TestSlow(t *testing.T) {
	slowtest.Skip(t)
	for _, lie := range append(deliver.Lies(), deliver.Honest) {
		t.Run(cmp.Or(string(lie), "honest"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, w, slow, delay = 18_000, 12, 4, 5 * time.Millisecond
				r := newRig(t, deliver.Law{Delay: delay, Lie: lie, Every: 5003}, stream1, watchers.Plan{
					Watchers: []int{w}, Of: watchers.All, Slow: watchers.Slow{Share: 20, Pause: 3 * time.Second},
				})
				o := r.run(n)
				lied := int64(len(r.hub.Lied()))
				want := watchers.Counts{Writes: n, Delivered: n * w}
				switch lie {
				case deliver.Lose:
					want.Lost, want.Delivered = lied, want.Delivered-lied
				case deliver.Double:
					want.Duplicate = lied
				case deliver.Swap:
					want.Reordered = lied
				}
				if o.Counts != want || o.SlowEnded > 0 || (lied > 0) != (lie != deliver.Honest) {
					t.Fatalf("counts %+v, want %+v; %d slow connections ended", o.Counts, want, o.SlowEnded)
				}
				s := o.Stages[0]
				if s.Slow == nil || s.Slow.Watchers != slow || s.Slow.Connections != 1 || s.Slow.CaughtUp != 1 || s.Slow.Length != 3*time.Second {
					t.Fatalf("the slow part is %+v, want %d watchers on one connection", s.Slow, slow)
				}
				if total := s.Deliveries + s.Slow.Sent.N; total != want.Delivered {
					t.Errorf("%d deliveries and %d to slow watchers, want %d together", s.Deliveries, s.Slow.Sent.N, want.Delivered)
				}
				if lie != deliver.Honest {
					return
				}
				if limit := int64(apply+delay) * 101 / 100; s.Sent.Max > limit || s.All.Max > limit || s.All.N != n {
					t.Errorf("times of the others are %+v, all heard %+v; want nothing above %v", s.Sent, s.All, time.Duration(limit))
				}
				// Writes take 550 us: 5,454 came in the pause.
				if s.Slow.Sent.N != n*slow || s.Slow.Sent.Max < int64(2900*time.Millisecond) || s.Slow.Changes < 5000 {
					t.Errorf("the slow part is %+v, from sent %+v; want deliveries up to 3 s late", s.Slow, s.Slow.Sent)
				}
			})
		})
	}
}

// A slow connection that the store ends is counted, and its missing events are not lost.
func TestSlowEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deliver.Law{}, stream1, watchers.Plan{Watchers: []int{6}, Of: watchers.All, Slow: watchers.Slow{Share: 1, Pause: 5 * time.Second}})
		ctx := t.Context()
		if err := r.watching.Prepare(ctx); err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		running.Go(func() {
			if err := r.watching.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(4 * time.Second) // the pause began
		r.write(workload.OK, true)
		synctest.Wait()
		for _, c := range r.watching.conns {
			if c.slow {
				r.hub.Remove(c.on.(*stream).queue)
				c.Broken(fmt.Errorf("the store cut it"))
			}
		}
		r.write(workload.OK, true)
		time.Sleep(time.Second)
		r.observed()
		r.end(ctx) // in the pause
		running.Wait()
		o := r.watching.Outcome()
		if want := (watchers.Counts{Writes: 2, Delivered: 10, Behind: 2}); o.Counts != want || o.SlowEnded != 1 || o.SlowWhy == "" {
			t.Errorf("counts %+v, want %+v; %d slow connections ended: %q", o.Counts, want, o.SlowEnded, o.SlowWhy)
		}
	})
}

// A write whose outcome is unknown may be received or not; one that failed and was made, and one by
// another writer, are foreign.
func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deliver.Law{}, stream1, watchers.Plan{Watchers: []int{2}, Of: watchers.All})
		ctx := t.Context()
		if err := r.watching.Prepare(ctx); err != nil {
			t.Fatal(err)
		}
		if err := r.watching.Run(ctx); err != nil {
			t.Fatal(err)
		}
		r.write(workload.Unknown, true)
		r.write(workload.Unknown, false)
		r.write(workload.Failed, true)
		r.write(workload.Failed, false)
		r.write(workload.OK, true)
		r.write(workload.OK, false) // acknowledged and not made
		r.version++
		r.hub.Publish(deliver.Change{Key: []byte("other"), Version: r.version}, time.Now())
		time.Sleep(time.Second)
		r.observed()
		r.end(ctx)
		o := r.watching.Outcome()
		if want := (watchers.Counts{Writes: 2, Unknown: 2, Delivered: 4, Lost: 2, Foreign: 4}); o.Counts != want {
			t.Errorf("counts %+v, want %+v", o.Counts, want)
		}
		if len(o.Witnesses) != 2 || o.Witnesses[0].Request != 5 || o.Witnesses[0].Version != 0 {
			t.Errorf("witnesses %+v, want the request that was not made", o.Witnesses)
		}
	})
}

// Events that a connection does not report after it broke are behind, and not lost.
func TestBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, deliver.Law{}, stream1, watchers.Plan{Watchers: []int{6}, Of: watchers.All})
		ctx := t.Context()
		if err := r.watching.Prepare(ctx); err != nil {
			t.Fatal(err)
		}
		if err := r.watching.Run(ctx); err != nil {
			t.Fatal(err)
		}
		r.write(workload.OK, true)
		time.Sleep(time.Second)
		c := r.watching.conns[0]
		if err := c.on.Close(); err != nil {
			t.Fatal(err)
		}
		c.Broken(fmt.Errorf("the connection was cut"))
		r.write(workload.OK, true)
		time.Sleep(time.Second)
		r.observed()
		r.end(ctx)
		o := r.watching.Outcome()
		if want := (watchers.Counts{Writes: 2, Delivered: 10, Behind: 2}); o.Counts != want || o.Broken == "" || o.BehindWhy != "" {
			t.Errorf("counts %+v, want %+v; broken %q, behind %q", o.Counts, want, o.Broken, o.BehindWhy)
		}
	})
}

// blocking is a store whose watchers receive only each key's newest value.
type blocking struct {
	delay  time.Duration
	forget bool // the last change is not reported

	mu      sync.Mutex
	state   map[int64]database.WatchEvent
	version int64
	changed chan struct{}
	told    map[int64]int64 // the number of watchers that received a version
	reports []report        // in their order
}

// report is an event that a watcher received.
type report struct {
	watcher int32
	key     []byte
	version int64
	at      time.Time
}

func newBlocking(delay time.Duration) *blocking {
	return &blocking{delay: delay, state: map[int64]database.WatchEvent{}, changed: make(chan struct{}), told: map[int64]int64{}}
}

func (b *blocking) set(key int64, name, value []byte, version int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state[key] = database.WatchEvent{Key: name, Value: value, Version: version}
	b.version = version
	close(b.changed)
	b.changed = make(chan struct{})
}

// since returns the newest versions after one, and the greatest.
func (b *blocking) since(version int64) (events []database.WatchEvent, now int64, changed chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.state {
		if e.Version > version {
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(x, y database.WatchEvent) int { return int(x.Version - y.Version) })
	return events, b.version, b.changed
}

// tells notes the versions that a watcher receives.
func (b *blocking) tells(events []database.WatchEvent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range events {
		b.told[e.Version]++
		b.reports = append(b.reports, report{e.Watcher, e.Key, e.Version, time.Now()})
	}
}

// query is a watcher on a blocking store.
type query struct {
	of     *blocking
	to     database.Receiver
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup
}

func (b *blocking) dial(ctx context.Context, to database.Receiver) *query {
	q := &query{of: b, to: to}
	q.ctx, q.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return q
}

func (q *query) Add(_ context.Context, watcher int32, _ database.WatchRange) (int64, error) {
	_, last, _ := q.of.since(0)
	q.begin(watcher, last)
	return last, nil
}

func (q *query) Resume(_ context.Context, watcher int32, _ database.WatchRange, after int64) error {
	q.begin(watcher, after)
	return nil
}

func (q *query) begin(watcher int32, last int64) {
	q.tasks.Go(func() {
		for {
			_, now, changed := q.of.since(last)
			if now == last {
				select {
				case <-changed:
				case <-q.ctx.Done():
					return
				}
			}
			if !sleep.For(q.ctx, q.of.delay+time.Duration(watcher)*time.Millisecond) {
				return
			}
			events, now, _ := q.of.since(last)
			last = now
			for i := range events {
				events[i].Watcher = watcher
			}
			if n := len(events) - 1; n >= 0 && q.of.forget {
				events = events[:n]
			}
			q.of.tells(events)
			if len(events) == 0 {
				events = []database.WatchEvent{{Watcher: watcher, Woken: true}}
			}
			q.to.Receive(time.Now(), events)
		}
	})
}

// Barrier waits for longer than any query takes.
func (q *query) Barrier(ctx context.Context) error {
	if !sleep.For(ctx, time.Minute/4) {
		return ctx.Err()
	}
	return nil
}

func (q *query) Close() error {
	q.cancel()
	q.tasks.Wait()
	return nil
}

// Watches that coalesce receive the last value of each key; skipped versions are counted, and
// nothing is lost or counted twice.
func TestCoalescing(t *testing.T) {
	facts := coalescing
	for _, values := range []bool{true, false} {
		facts.Values = values
		t.Run(fmt.Sprintf("values %v", values), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, w = 3000, 8
				r := newRig(t, deliver.Law{}, facts, watchers.Plan{Watchers: []int{w}, Of: watchers.All})
				r.blocking = newBlocking(3 * time.Millisecond)
				o := r.run(n)
				c := o.Counts
				if c.Lost+c.Duplicate+c.Reordered+c.Behind+c.Foreign+c.Unjudged > 0 || c.Writes != n {
					t.Fatalf("counts %+v, witnesses %+v", c, o.Witnesses)
				}
				if c.Delivered+c.Coalesced != n*w || c.Coalesced < n*w/4 || c.Delivered < n*w/10 {
					t.Errorf("%d deliveries and %d that were replaced, want %d together", c.Delivered, c.Coalesced, n*w)
				}
				if s := o.Stages[0]; s.All == nil || s.All.N != n || s.Sent.N != c.Delivered {
					t.Errorf("the stage is %+v, all heard %+v", s, s.All)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, deliver.Law{}, facts, watchers.Plan{Watchers: []int{2}, Of: watchers.All})
				r.blocking = newBlocking(3 * time.Millisecond)
				r.blocking.forget = true
				if o := r.run(1000); o.Counts.Lost == 0 {
					t.Errorf("counts %+v, want the last writes to be lost", o.Counts)
				}
			})
		})
	}
}

// If watches coalesce, a version by another writer is neither delivered nor replaced, whether
// watchers received it or a newer one instead.
func TestCoalescingForeign(t *testing.T) {
	facts := coalescing
	for _, values := range []bool{true, false} {
		facts.Values = values
		t.Run(fmt.Sprintf("values %v", values), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, w = 700, 8
				r := newRig(t, deliver.Law{}, facts, watchers.Plan{Watchers: []int{w}, Of: watchers.All})
				r.blocking = newBlocking(3 * time.Millisecond)
				ctx := t.Context()
				if err := r.watching.Prepare(ctx); err != nil {
					t.Fatal(err)
				}
				if err := r.watching.Run(ctx); err != nil {
					t.Fatal(err)
				}
				foreign := map[int64]bool{} // versions
				for i := range n {
					if i%7 == 0 {
						r.write(workload.Failed, true)
						foreign[r.version] = true
					} else {
						r.write(workload.OK, true)
					}
				}
				time.Sleep(time.Second)
				r.observed()
				r.end(ctx)
				c := r.watching.Outcome().Counts
				if c.Lost+c.Duplicate+c.Reordered+c.Behind+c.Unjudged > 0 || c.Writes != n-n/7 {
					t.Fatalf("counts %+v", c)
				}
				var ours, theirs int64
				for version, told := range r.blocking.told {
					if foreign[version] {
						theirs += told
					} else {
						ours += told
					}
				}
				if c.Delivered != ours || c.Foreign != theirs || theirs == 0 {
					t.Errorf("%d deliveries and %d of somebody else, want %d and %d", c.Delivered, c.Foreign, ours, theirs)
				}
				if c.Delivered+c.Coalesced != c.Writes*w {
					t.Errorf("%d deliveries and %d that were replaced, want %d together", c.Delivered, c.Coalesced, c.Writes*w)
				}
			})
		})
	}
}
