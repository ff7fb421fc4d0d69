package dbtester_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/coreos/dbtester"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/workload"
)

// An experiment is read, run with an agent that listens at its address, and analyzed.
// Errors are printed here; a program would return them.
func Example() {
	ctx := context.Background()
	c, err := dbtester.ReadConfig("experiment.yaml")
	if err != nil {
		fmt.Println(err) // every problem in the file, each with its line and column
		return
	}
	c.Experiment.Title = "etcd, three members"
	report := func(u control.Update) { fmt.Println(u.Text) }
	outcome, err := c.Run(ctx, report, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := c.Analyze(ctx, outcome.Folders...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(table.Text())
}

// Members are started, loaded and stopped one call after the other, with agents that listen at the
// addresses in the file.
func ExampleConfig_BroadcastRequest() {
	ctx := context.Background()
	c, err := dbtester.ReadConfig("experiment.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Dial = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if _, err := c.BroadcastRequest(ctx, "etcd__v3_7", dbtester.Start); err != nil {
		fmt.Println(err)
		return
	}
	_, failed := c.Stress(ctx, "etcd__v3_7")
	stopped, err := c.BroadcastRequest(ctx, "etcd__v3_7", dbtester.Stop)
	if err := errors.Join(failed, err); err != nil {
		fmt.Println(err)
		return
	}
	for member, r := range stopped {
		fmt.Println(member, r.Endpoint, r.DiskSpaceUsageBytes)
	}
}

// memory is a database written by the caller, in memory, and its driver: nothing is started, and a
// connection is the database itself.
type memory struct{ values sync.Map }

var (
	_ database.Driver = (*memory)(nil)
	_ database.Client = (*memory)(nil)
)

func (m *memory) Plan(database.Member) (database.Plan, error) {
	return database.Plan{}, errors.New("this database lives in the client's process")
}

func (m *memory) Ready(context.Context, database.Target, int) error { return nil }

func (m *memory) Dial(context.Context, database.Target) (database.Client, error) { return m, nil }

func (m *memory) Put(_ context.Context, key, value []byte) error {
	m.values.Store(string(key), bytes.Clone(value)) // the engine reuses its buffers
	return nil
}

func (m *memory) Get(_ context.Context, key []byte, _ workload.ReadMode) ([]byte, error) {
	value, ok := m.values.Load(string(key))
	if !ok {
		return nil, database.ErrNotFound
	}
	return value.([]byte), nil
}

func (m *memory) Close() error { return nil }

// keys returns how many keys are stored.
func (m *memory) keys() (n int) {
	m.values.Range(func(any, any) bool { n++; return true })
	return n
}

// must is for examples; a program handles its errors.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The load engine in a ten-line program, with a database written by the caller. The folder has the
// records.
func Example_engine() {
	dir := must(os.MkdirTemp("", "records"))
	defer os.RemoveAll(dir)
	files := must(load.NewFiles(dir, time.Now()))
	defer files.Close()
	store, ctx := &memory{}, context.Background()
	writes := load.Spec{Seed: 1, Load: workload.Load{Content: workload.Content{Operation: workload.OpWrite}, Sizing: workload.Sizing{KeySize: 16, ValueSize: 64}, Limits: workload.Limits{Timeout: time.Second}}}
	recorder := load.NewRecorder(files, writes.Operations(), nil)
	step := load.Step{Step: workload.Step{Clients: 4, Requests: 1000}}
	must(load.NewEngine(writes, recorder).Step(ctx, step, []database.Client{must(store.Dial(ctx, database.Target{}))}))
	fmt.Println(recorder.Totals().OK, "requests ended ok,", store.keys(), "keys are stored")
	// Output: 1000 requests ended ok, 1000 keys are stored
}

// One function is a client for the load engine.
func ExampleReqHandler() {
	var values sync.Map
	handler := dbtester.ReqHandler(func(_ context.Context, req *dbtester.LoadRequest) error {
		if req.Operation == workload.OpWrite {
			values.Store(string(req.Key), bytes.Clone(req.Value))
			return nil
		}
		value, ok := values.Load(string(req.Key))
		if !ok {
			return database.ErrNotFound
		}
		req.Value = value.([]byte)
		return nil
	})
	ctx := context.Background()
	fmt.Println(handler.Put(ctx, []byte("key"), []byte("value")))
	value, err := handler.Get(ctx, []byte("key"), workload.ReadLinearizable)
	fmt.Println(string(value), err)
	// Output:
	// <nil>
	// value <nil>
}

// Two seconds of a load, as latencies by 1,000 keys. The last 500 keys are a shorter range.
func ExampleFindRangesLatency() {
	const ms = time.Millisecond
	seconds := dbtester.TimeSeries{
		{Timestamp: 1795229506, MinLatency: 1 * ms, AvgLatency: 4 * ms, MaxLatency: 25 * ms, ThroughPut: 500},
		{Timestamp: 1795229507, MinLatency: 2 * ms, AvgLatency: 8 * ms, MaxLatency: 70 * ms, ThroughPut: 2000},
	}
	for _, r := range dbtester.FindRangesLatency(seconds, 1000, 10000) {
		fmt.Println(r.CumulativeKeyNum, r.MinLatency, r.AvgLatency, r.MaxLatency)
	}
	// Output:
	// 1000 1ms 6ms 70ms
	// 2000 2ms 8ms 70ms
	// 2500 2ms 8ms 70ms
}

func ExampleMakeTag() {
	fmt.Println(dbtester.MakeTag("Zookeeper r3.5.3-beta (Java 8)"))
	// Output: zookeeper-r3.5.3-beta-java8
}
