package main

import (
	"testing"

	reading "github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/metric"
)

// TestShortLoad applies a load of possibly less than a second to an etcd: its CPU time is counted,
// up to the end of the load.
func TestShortLoad(t *testing.T) {
	t.Parallel()
	p, hosts := newPlace(t), freeHosts(t)[:1]
	file := p.experiment("brief", hosts, "{requests: 400, clients: 8, connections: 8}")
	p.start("control", "--local", "--config", file).exits(exitDone, patience)
	runs, err := reading.FromFolder(p.runs()[0].Path("."))
	if err != nil || len(runs) != 1 {
		t.Fatalf("read the records: %d runs, %v", len(runs), err)
	}
	r := runs[0]
	cpu := r.ServerSum(reading.Unshared, reading.Of(metric.CPUSeconds))
	if cpu.Value <= 0 || len(cpu.Marks) > 0 {
		t.Errorf("the CPU time of the member must be known, got %+v", cpu)
	}
	if last, ok := r.Machines.Servers[0].Samples.Last(); !ok || last.UnixNano < r.Windows.Load.To {
		t.Errorf("the last sample must lie after the load's end at %d, got %d", r.Windows.Load.To, last.UnixNano)
	}
}
