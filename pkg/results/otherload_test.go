package results

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coreos/dbtester/pkg/metric"
)

// TestOtherLoads has a client and two members on one machine with four processors, and a member on
// another machine whose samples lack its processor time.
func TestOtherLoads(t *testing.T) {
	dir := t.TempDir()
	start := time.Unix(1000, 0)
	write := func(file string, values ...map[metric.Name]float64) {
		w, err := NewSampleWriter(filepath.Join(dir, file))
		check(t, err)
		for i, v := range values {
			s := Sample{UnixNano: start.Add(time.Duration(10*i) * time.Second).UnixNano(), Device: "sda", BootID: "b", NetNS: "n", Values: metric.SystemValues(v)}
			check(t, w.Write(s))
		}
		check(t, w.Close())
	}
	at := func(host, own, sectors, bytes float64) map[metric.Name]float64 {
		return map[metric.Name]float64{metric.HostCPUSeconds: host, metric.CPUSeconds: own, metric.SectorsWritten: sectors, metric.WriteBytes: bytes}
	}
	write(FileClient, at(500, 1, 0, 0), at(530, 6, 9000, 0), at(900, 99, 0, 0)) // the last one is after the load
	write(ServerFile(1), at(500, 2, 0, 100), at(530, 5, 1000, 100_100))
	write(ServerFile(2), at(500, 3, 0, 0), at(530, 7, 1000, 50_000))
	write(ServerFile(3), at(-1, 3, 0, 0), at(-1, 7, 1000, 50_000))
	shared, other := Host{Name: "one", BootID: "b", CPUs: 2, OnlineCPUs: 4}, Host{Name: "two", BootID: "c", CPUs: 1}
	run := &DatabaseRun{Moments: Moments{LoadStart: start, LoadEnd: start.Add(11 * time.Second)}, Members: []Member{{Index: 0, Host: &shared}, {Index: 1, Host: &shared}, {Index: 2, Host: &other}, {Index: 3}}}
	got := OtherLoads(dir, run, shared)
	want := []OtherLoad{{
		Host: "one", Members: []int{0, 1}, Client: true, CPUs: 4, Length: 10 * time.Second, HostCPUSeconds: 30, OwnCPUSeconds: 5 + 3 + 4,
		DeviceWrittenBytes: 512_000, OwnWrittenBytes: 150_000,
	}}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Fatalf("other load (-want +got):\n%s", diff)
	}
	if share := got[0].OtherCPUShare(); share != 18./40 {
		t.Errorf("want others to have used 18 of 40 s of the processors, got a share of %g", share)
	}
	if bytes := got[0].OtherWrittenBytes(); bytes != 362_000 {
		t.Errorf("want the device to have written 362000 bytes besides the members', got %g", bytes)
	}
}
