package results

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results/clocks"
)

// Member samples are compared and derived in the client clock, by clock.csv if there is one, else
// by the offset in the manifest.
func TestSamplesInTheClientsClock(t *testing.T) {
	t.Parallel()
	const begin, ahead = 1_800_000_000, 3600
	for name, heartbeats := range map[string]bool{"heartbeats": true, "manifest alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run := &DatabaseRun{
				Moments: Moments{LoadStart: time.Unix(begin, 0), LoadEnd: time.Unix(begin+10, 0)},
				Members: []Member{{Host: &Host{BootID: "server", CPUs: 2}, Clock: &Clock{Offset: ahead * time.Second, N: 1}}},
			}
			if heartbeats {
				run.Members[0].Clock.Offset = 0 // the file goes first
				w, err := clocks.NewWriter(filepath.Join(dir, FileClock))
				if err != nil {
					t.Fatal(err)
				}
				for i := range int64(10) {
					if err := w.Write(clocks.Exchange{UnixNano: (begin + i) * 1e9, OffsetNS: ahead * 1e9, ErrorNS: 1000}); err != nil {
						t.Fatal(err)
					}
				}
				w.Close()
			}
			w, err := NewSampleWriter(filepath.Join(dir, ServerFile(1)))
			if err != nil {
				t.Fatal(err)
			}
			for i := range int64(10) {
				err := w.Write(Sample{UnixNano: (begin+ahead+i)*1e9 + 1e6, PeriodNS: 1e9, Program: "db", Values: metric.SystemValues(map[metric.Name]float64{metric.HostCPUSeconds: float64(i), metric.CPUSeconds: float64(i) / 2})})
				if err != nil {
					t.Fatal(err)
				}
			}
			w.Close()
			others := OtherLoads(dir, run, Host{})
			if len(others) != 1 || others[0].HostCPUSeconds != 9 || others[0].OwnCPUSeconds != 4.5 {
				t.Errorf("other load %+v, want 9 s of the machine and 4.5 s of the member", others)
			}
			if err := deriveSamples(dir, run); err != nil {
				t.Fatal(err)
			}
			got, err := ReadSamples(filepath.Join(dir, "1-"+FileServerInterpolated))
			if err != nil || len(got) != 10 || got[0].UnixNano/1e9 != begin {
				t.Errorf("want 10 derived samples from second %d on, got %d from %+v on (%v)", begin, len(got), got[:min(len(got), 1)], err)
			}
		})
	}
}

// A clock record ending in an incomplete line counts up to that line.
func TestTracksOfABrokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileClock), []byte("unix_ns,member,offset_ns,error_ns,round_trip_ns\n1000,0,500,1,2\n2000,0,5"), 0o600); err != nil {
		t.Fatal(err)
	}
	tracks, err := Tracks(dir, &DatabaseRun{Members: make([]Member, 2)})
	if err == nil || tracks[0].Client(1500) != 1000 || tracks[1].Client(1500) != 1500 {
		t.Errorf("tracks give %d and %d (%v), want 1000, 1500 and an error", tracks[0].Client(1500), tracks[1].Client(1500), err)
	}
}
