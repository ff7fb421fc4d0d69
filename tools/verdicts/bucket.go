package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	search "github.com/coreos/dbtester/control/abilities/capacity"
	"github.com/coreos/dbtester/pkg/ability/capacity"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

const bucketText = "A server on loopback that takes %.0f requests a second, one at a time, in the order in which they come; p99 <= 20 ms, constant arrivals, windows of %v. A window of so many seconds has 1 %% of its requests above the limit at a rate that is a little above the server's."

// bucket is a server with a token each interval and room for one: a request waits for
// its token.
type bucket struct {
	interval time.Duration
	mu       sync.Mutex
	next     time.Time
}

// take waits for a token.
func (b *bucket) take() {
	b.mu.Lock()
	at := time.Now()
	if at.Before(b.next) {
		at = b.next
	}
	b.next = at.Add(b.interval)
	b.mu.Unlock()
	time.Sleep(time.Until(at))
}

// serve answers each byte on each connection with a byte, until the listener is closed.
func (b *bucket) serve(l net.Listener) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		all.Go(func() {
			defer conn.Close()
			var one [1]byte
			for {
				if _, err := io.ReadFull(conn, one[:]); err != nil {
					return
				}
				b.take()
				if _, err := conn.Write(one[:]); err != nil {
					return
				}
			}
		})
	}
}

// bucketClient is a connection to a bucket.
type bucketClient struct{ net.Conn }

func (c bucketClient) Put(ctx context.Context, _, _ []byte) error {
	if until, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(until); err != nil {
			return database.NotApplied(database.ClassConnection, err)
		}
	}
	one := [1]byte{1}
	if _, err := c.Write(one[:]); err != nil {
		return database.MaybeApplied(database.ClassConnection, err)
	}
	if _, err := io.ReadFull(c.Conn, one[:]); err != nil {
		return database.MaybeApplied(database.ClassConnection, err)
	}
	return nil
}

func (c bucketClient) Get(context.Context, []byte, workload.ReadMode) ([]byte, error) {
	return nil, database.NotApplied(database.ClassOther, errors.New("a bucket holds no values"))
}

// bucketSearch finds a bucket capacity in real time.
func bucketSearch(ctx context.Context, c capacity.Plan, perSecond float64, say func(string, ...any)) (out search.Outcome, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return out, err
	}
	var served sync.WaitGroup
	b := &bucket{interval: time.Duration(float64(time.Second) / perSecond)}
	served.Go(func() { b.serve(l) })
	dir, err := os.MkdirTemp("", "bucket")
	if err != nil {
		return out, errors.Join(err, l.Close())
	}
	const clients = 200
	var conns []database.Client
	defer func() {
		for _, c := range conns {
			err = errors.Join(err, c.Close())
		}
		err = errors.Join(err, l.Close(), os.RemoveAll(dir))
		served.Wait()
	}()
	for range clients {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return out, err
		}
		conns = append(conns, bucketClient{conn})
	}
	stretch := workload.Step{Clients: clients, Connections: clients, Rate: 250}
	spec := load.Spec{Load: workload.Load{
		Content:  workload.Content{Operation: workload.OpWrite},
		Keyspace: workload.Keyspace{SameKey: true},
		Extent:   workload.Extent{Clients: clients, Connections: clients},
		Sizing:   workload.Sizing{KeySize: 16, ValueSize: 16},
		Pace:     workload.Pace{Arrival: workload.ArrivalConstant, Backlog: workload.BacklogShed},
		Limits:   workload.Limits{WarmUp: c.Settle, Timeout: 2 * time.Second, Drain: 2 * time.Second},
	}, Seed: 1}
	sink := search.NewSink(dir)
	engine := load.NewEngine(spec, load.NewRecorder(sink, spec.Operations(), nil))
	out, err = search.Run(ctx, search.Options{
		Plan: c, Stretch: stretch, Trial: 1, Dir: dir, Sink: sink,
		Step:   func(ctx context.Context, s load.Step) (load.StepResult, error) { return engine.Step(ctx, s, conns) },
		Before: func(context.Context) (int64, error) { return -1, nil }, Last: func(float64) error { return nil }, Say: say,
	})
	return out, errors.Join(err, sink.Close())
}

// bucketTable prints the results from searches in real time.
func bucketTable(out io.Writer, c capacity.Plan, searches int) error {
	const perSecond = 5000
	fmt.Fprintf(out, bucketText+"\n\n| search | capacity | interval | windows | held | drift |\n|---|---|---|---|---|---|\n", float64(perSecond), c.Window)
	var errs []error
	for n := range searches {
		o, err := bucketSearch(context.Background(), c, perSecond, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
		if err != nil {
			return err
		}
		drift := "-"
		if d := o.Drift; d != nil {
			drift = fmt.Sprintf("%.2f %% and %.2f %% within", 100*d.First, 100*d.Last)
		}
		fmt.Fprintf(out, "| %d | %.0f/s (%s) | %.0f .. %.0f | %d, %d void | %.0f/s after %d | %s |\n", n+1, o.Rate, o.Reason, o.Low, o.High, o.Counted, o.Voided, o.Held, o.Holds, drift)
		if o.Rate < .97*perSecond || o.Rate > 1.01*perSecond || o.Held == 0 || o.Held > 1.0004*perSecond {
			errs = append(errs, fmt.Errorf("search %d: a capacity of %.0f/s, held at %.0f/s: want 97 to 101 %% of %d, held at most 100.04 %%", n+1, o.Rate, o.Held, perSecond))
		}
	}
	return errors.Join(errs...)
}

// bucketPlan is the search that `make capacity` makes.
func bucketPlan() capacity.Plan {
	return capacity.Plan{
		Latency: 20 * time.Millisecond, At: 99, Errors: .1, Window: 8 * time.Second, Settle: 2 * time.Second,
		Share: 80, Tolerance: 6, Windows: 40, Hold: 60 * time.Second,
	}
}
