package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/results/recovery"
)

func TestPlan(t *testing.T) {
	list := []Fault{{Kind: "kill", At: 20 * time.Second}, {Kind: "pause", At: 5 * time.Second}}
	var got []string
	for _, d := range Plan(list, Repeat{Times: 2, Every: time.Minute}, 1) {
		got = append(got, fmt.Sprintf("%v %s %d %d", d.After, d.Kind, d.Number, d.Repeat))
	}
	want := []string{"5s pause 1 0", "20s kill 0 0", "1m5s pause 1 1", "1m20s kill 0 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if got := Plan(list[:1], Repeat{}, 1); len(got) != 1 {
		t.Errorf("without repeats: %+v", got)
	}
	// The seed decides the delays of repeats, all faults of one repeat alike.
	jitter := Repeat{Times: 5, Every: time.Minute, Jitter: 10 * time.Second}
	a, b := Plan(list, jitter, 7), Plan(list, jitter, 7)
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("two plans of one seed differ:\n%s", diff)
	}
	for i := range 5 {
		off := a[2*i].After - time.Duration(i)*time.Minute - 5*time.Second
		if off < 0 || off > jitter.Jitter || a[2*i+1].After-a[2*i].After != 15*time.Second {
			t.Errorf("repeat %d is put off by %v", i, off)
		}
	}
}

// A member is started for the faults that can reach it: with a number that member alone.
func TestStart(t *testing.T) {
	v := Keys().With(nil, []Fault{
		{Kind: "disk", Member: "2", Fsync: "10ms"}, {Kind: "kill", Member: Leader}, {Kind: "pause", Member: Each},
		{Kind: "power", Member: All}, {Kind: "restart", Member: "3"}, {Kind: Command, Run: []string{"true"}},
	})
	for member, want := range [][]string{{"kill", "pause", "power"}, {"disk", "kill", "pause", "power"}, {"kill", "pause", "power", "restart"}} {
		req := &dbtesterpb.StartRequest{Index: int32(member)}
		if err := Ability().Start(v, req); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range req.GetFaults() {
			got = append(got, f.GetKind())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("faults of member %d (-want +got):\n%s", member+1, diff)
		}
	}
}

// probe takes times in seconds.
func probe(member int, sent, took float64, class string) Probe {
	return Probe{Member: member, SentNS: int64(sent * 1e9), TookNS: int64(took * 1e9), Class: class}
}

func TestSilences(t *testing.T) {
	probes := []Probe{
		probe(1, 1, 0.5, ""), probe(2, 1, 0.25, ""),
		probe(1, 2, 1, "time-out"), probe(2, 2, 0.25, ""),
		probe(1, 3, 2, ""), probe(2, 3, 0.25, ""), // the first answer of member 1 comes at 5
		probe(2, 4, 0, NotSent), probe(2, 9, 0.5, ""),
	}
	got := Silences(probes, 2, time.Unix(2, 0), time.Unix(6, 0))
	want := []Silence{
		{Member: 0, Longest: 4500 * time.Millisecond, Probes: 5, OK: 3}, // from 5 to 9.5
		{Member: 1, Longest: 3500 * time.Millisecond, Probes: 2, OK: 1}, // from 1.5 to 5
		{Member: 2, Longest: 6250 * time.Millisecond, Probes: 3, OK: 2}, // from 3.25 to 9.5
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("silences (-want +got):\n%s", diff)
	}
}

func TestBack(t *testing.T) {
	probes := []Probe{probe(1, 1, 3, ""), probe(1, 2.5, 0.1, "connection lost"), probe(2, 2.5, 0.1, ""), probe(1, 3, 0.5, "")}
	if got := Back(probes, 1, time.Unix(2, 0), time.Unix(9, 0)); got != 1500*time.Millisecond {
		t.Errorf("member 1 was back after %v, want 1.5 s", got)
	}
	if got := Back(probes, 1, time.Unix(2, 0), time.Unix(3, 0)); got != recovery.Never {
		t.Errorf("member 1 was back after %v, want never", got)
	}
}
