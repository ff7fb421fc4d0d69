package dbtester_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/coreos/dbtester"
	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/results"
)

// readOwn reads an experiment with one member of the fake database, with further keys.
func readOwn(t *testing.T, more string) *dbtester.Config {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "experiment.yaml")
	text := fmt.Sprintf(`title: parts
results: %s
hosts: [{addr: %s, agent_port: 3500, ports: {client: %d}}]
load: {operation: write, clients: 2, connections: 2, requests: 50, value_size: 16}
%s
`, filepath.Join(dir, "results"), host, freePort(t), more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	c, err := dbtester.ReadConfig(file, fake.Database())
	if err != nil {
		t.Fatalf("read the experiment: %v", err)
	}
	return c
}

// TestBroadcast starts, loads and stops a member of our own database in separate calls.
func TestBroadcast(t *testing.T) {
	c := readOwn(t, "databases: {fake: {}}")
	updates := 0
	c.Report = func(control.Update) { updates++ }
	c.Dial = []grpc.DialOption{agentOn(t), grpc.WithTransportCredentials(insecure.NewCredentials())}
	beats := func(want bool) {
		t.Helper()
		responses, err := c.BroadcastRequest(t.Context(), "fake", dbtester.Heartbeat)
		if got := responses[0].Success; len(responses) != 1 || got != want || (err == nil) != want {
			t.Errorf("the heartbeat has %+v (%v), want that the member runs: %v", responses, err, want)
		}
	}
	beats(false)
	started, err := c.BroadcastRequest(t.Context(), "fake", dbtester.Start)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	if r := started[0]; len(started) != 1 || !r.Success || !strings.HasPrefix(r.Endpoint, host+":") || r.DiskSpaceUsageBytes != -1 {
		t.Errorf("started: %+v, want one member on %s that runs and was not measured", started, host)
	}
	beats(true)
	out, err := c.Stress(t.Context(), "fake")
	if err != nil {
		t.Fatalf("stress: %v", err)
	}
	if len(out.Folders) != 1 || len(out.Verdicts) != 1 || !out.Verdicts[0].Loaded {
		t.Errorf("the load has %+v, want one folder and one verdict of a load", out)
	}
	beats(true)
	stopped, err := c.BroadcastRequest(t.Context(), "fake", dbtester.Stop)
	if err != nil {
		t.Fatalf("stop: %v", err)
	}
	r := stopped[0]
	// 50 values with 16 bytes each, and their keys.
	if len(stopped) != 1 || !r.Success || r.DiskSpaceUsageBytes < 50*16 {
		t.Errorf("stopped: %+v, want one member with the data of 50 requests", stopped)
	}
	if _, err := os.Stat(filepath.Join(r.Folder, results.ServerFile(1))); err != nil {
		t.Errorf("the samples of the member were not collected: %v", err)
	}
	beats(false)
	if updates == 0 {
		t.Error("no progress was reported")
	}
	if err := c.SaveDiskSpaceUsageSummary("fake", stopped); err != nil {
		t.Fatalf("save the disk usage: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(r.Folder, results.FileDisk))
	if want := fmt.Sprintf("%s\n0,%s,", strings.Join(dbtester.DiskSpaceUsageSummaryColumns, ","), r.Endpoint); err != nil || !strings.HasPrefix(string(text), want) {
		t.Errorf("the disk usage is %q (%v), want it to begin with %q", text, err, want)
	}
	if len(c.Experiment.Databases) != 1 || !c.Experiment.Databases[0].Steps.Load {
		t.Errorf("the experiment was changed: %+v", c.Experiment.Databases)
	}
}

// TestBroadcastRefused: a refused request changes nothing and names the reason.
func TestBroadcastRefused(t *testing.T) {
	swept := readOwn(t, "databases: {fake: {}}\nsweep: {preload: [100, 200]}")
	running := readOwn(t, fmt.Sprintf("databases: {fake: {endpoints: ['%s:1']}}", host))
	plain := readOwn(t, "databases: {fake: {}}")
	named := readOwn(t, "databases: {fake: {}}") // an address has itself alone
	hosts := &named.Experiment.Databases[0].Hosts
	(*hosts)[0].DNS = host
	*hosts = append(*hosts, (*hosts)[0])
	for _, tc := range []struct {
		name string
		c    *dbtester.Config
		id   string
		op   dbtester.Operation
		want string
	}{
		{"unknown id", plain, "fak", dbtester.Start, `unknown database id "fak"`},
		{"unknown operation", plain, "fake", 7, "must be Start, Stop or Heartbeat, got Operation(7)"},
		{"several points", swept, "fake", dbtester.Start, `"fake" has 2 points of a sweep`},
		{"too few addresses", named, "fake", dbtester.Heartbeat, "has too few addresses: 1 of 2"},
		{"no agents", running, "fake", dbtester.Stop, "runs without agents"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			responses, err := tc.c.BroadcaseRequest(t.Context(), tc.id, tc.op)
			if err == nil || !strings.Contains(err.Error(), tc.want) || responses != nil {
				t.Errorf("responses %v and the error %v, want no response and %q", responses, err, tc.want)
			}
		})
	}
}

func TestToRequest(t *testing.T) {
	c := readOwn(t, "databases: {fake: {}}")
	start, err := c.ToRequest("fake", dbtester.Start, 0)
	if err != nil {
		t.Fatalf("make a request: %v", err)
	}
	if req, ok := start.(*dbtesterpb.StartRequest); !ok || req.GetDatabase() != "fake" || req.GetTag() != c.Experiment.Databases[0].Tag || req.GetHosts()[0].GetAddr() != host || req.GetClients() != 2 {
		t.Errorf("the request is %v, want a start of fake on %s with 2 clients", start, host)
	}
	beat, err := c.ToRequest("fake", dbtester.Heartbeat, 0)
	if req, ok := beat.(*dbtesterpb.HeartbeatRequest); err != nil || !ok || req.GetClients() != 2 {
		t.Errorf("the request is %v (%v), want a heartbeat with 2 clients", beat, err)
	}
	if stop, err := c.ToRequest("fake", dbtester.Stop, 0); err != nil || stop.ProtoReflect().Descriptor().Name() != "StopRequest" {
		t.Errorf("the request is %v (%v), want a stop", stop, err)
	}
	if _, err := c.ToRequest("fake", dbtester.Start, 1); err == nil || !strings.Contains(err.Error(), "must be from 0 to 0, got 1") {
		t.Errorf("the second member of one has the error %v, want the bounds", err)
	}
}
