package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/faults"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/recovery"
	"github.com/coreos/dbtester/pkg/workload"
)

// recorded is a run whose leader was killed for 3 s, with these blackouts; a negative one
// never ended.
func recorded(t *testing.T, blackouts ...time.Duration) *run.Run {
	t.Helper()
	begin := time.Unix(1000, 0)
	var list []faults.Happened
	for i, b := range blackouts {
		h := faults.Happened{Asked: faults.Asked{Repeat: i, Kind: "kill", Target: "leader", For: 3 * time.Second}, From: begin, To: begin.Add(3 * time.Second), Leaders: 1,
			Silences: []faults.Silence{{Member: 0, Longest: b / 2}, {Member: 1, Longest: 4 * time.Second}},
			Recovery: &recovery.Recovery{Level: 100, Blackout: b, To95: b, Failed: 3, Unknown: 4, Recovered: b >= 0, Until: begin.Add(10 * time.Second)}}
		if b < 0 {
			h.Recovery.Blackout = 10 * time.Second
		}
		list = append(list, h)
	}
	record := &results.DatabaseRun{}
	if err := faults.Record().Set(&record.Records, list); err != nil {
		t.Fatal(err)
	}
	r := &run.Run{}
	r.Info.Record = record
	return r
}

func TestRows(t *testing.T) {
	r := recorded(t, time.Second, 2*time.Second, 3*time.Second)
	got := map[string]string{}
	for _, row := range (Half{}).Rows() {
		m, text := row.Cell(r)
		if !m.Known() {
			text = m.Missing
		}
		got[row.Name] = strings.TrimPrefix(text, "kill of the leader for 3s: ")
	}
	want := map[string]string{
		"FAULT-BLACKOUT": "2.00 s (1.00 to 3.00, all 3)", "FAULT-SILENCE": "1.00 s (0.50 to 1.50, all 3)",
		"FAULT-BELOW": "0.00 s (0.00 to 0.00, all 3)", "FAULT-TO-95": "2.00 s (1.00 to 3.00, all 3)",
		"FAULT-BACKLOG": "0.00 s (0.00 to 0.00, all 3)", "FAULT-LOST": "7 (7 to 7, all 3)", "FAULT-LEADERS": "1 (1 to 1, all 3)",
		"FAULT-BACK": "0.00 s (0.00 to 0.00, all 3)", "FAULT-P99": "no fault has a second of measured load before it",
		"FAULT-TAP": "no member had a tap, or its cost was not measured",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Six repeats have an interval, and a median that never came is a lower bound.
func TestMedian(t *testing.T) {
	six := recorded(t, 1e9, 2e9, 3e9, 4e9, 5e9, 6e9)
	if got := groups([]*run.Run{six})[0].median(blackout()).text(blackout()); got != "3.50 s (1.00 to 6.00, 96.9 % of 6)" {
		t.Errorf("six repeats: %s", got)
	}
	never := recorded(t, -1, -1, 1e9)
	if got := groups([]*run.Run{never})[0].median(to95()).short(to95()); got != "over 10.00 s (1.00 to 10.00)" {
		t.Errorf("a load that did not recover: %s", got)
	}
}

func TestCard(t *testing.T) {
	runs := [][]*run.Run{{recorded(t, time.Second), recorded(t, 3*time.Second)}, {recorded(t)}}
	card := (Half{}).Card([]string{"a", "b"}, runs)
	if card == nil || len(card.Rows) != 7 {
		t.Fatalf("card %+v", card)
	}
	if diff := cmp.Diff([]string{"kill of the leader for 3s", "2.00 s (1.00 to 3.00)", "-"}, card.Rows[0]); diff != "" {
		t.Errorf("first row (-want +got):\n%s", diff)
	}
	if want := "Medians and, in brackets, ranges of 2 repeats or more: from 6 on there are intervals."; card.Notes[0] != want {
		t.Errorf("note %q, want %q", card.Notes[0], want)
	}
	if note := card.Notes[1]; !strings.HasSuffix(note, "; judged outside 20s of faults and recoveries (2)") {
		t.Errorf("note of a database: %q", note)
	}
	if (Half{}).Card([]string{"b"}, runs[1:]) != nil {
		t.Error("a run without faults has a card")
	}
	if got := (Half{}).Say([]string{"a"}, runs[:1]); got != "The load got no answer from a for 2.00 s (1.00 to 3.00), new clients for 1.00 s (0.50 to 1.50), after kill of the leader for 3s" {
		t.Errorf("sentence %q", got)
	}
	if !(Half{}).Acted(runs[0][0]) || (Half{}).Acted(runs[1][0]) {
		t.Error("it is not known which runs had faults")
	}
}

// The cost of taps is in a row for each member, and next to the settings for all runs.
func TestTaps(t *testing.T) {
	tapped := func(with ...time.Duration) *run.Run {
		r := recorded(t, time.Second)
		for i, d := range with {
			r.Info.Record.Members = append(r.Info.Record.Members, results.Member{Index: i, Disk: &results.Disk{Tap: &results.TapCost{N: 200, With: d, Without: 250 * time.Microsecond}}})
		}
		return r
	}
	r := tapped(260*time.Microsecond, 249*time.Microsecond)
	m, text := tapRow().Cell(r)
	if want := "member 1: 0.010 ms, 0.260 ms with and 0.250 ms without (n = 200 of each); member 2: -0.001 ms, 0.249 ms with and 0.250 ms without (n = 200 of each)"; text != want || m.Value != 0.01 || m.N != 200 {
		t.Errorf("the row is %v of %d, %q; want 0.01 of 200, %q", m.Value, m.N, text, want)
	}
	card := (Half{}).Card([]string{"a", "b"}, [][]*run.Run{{r, tapped(330 * time.Microsecond)}, {tapped()}})
	if note, want := card.Notes[1], "; each sync costs -0.001 to 0.080 ms more under the tap (n = 200, before the load)"; !strings.HasSuffix(note, want) {
		t.Errorf("the note is %q, want one that ends with %q", note, want)
	}
	if note := card.Notes[2]; strings.Contains(note, "tap") {
		t.Errorf("the note of members without taps is %q", note)
	}
	slow := tapped(330 * time.Microsecond)
	slow.Info.Record.Members[len(slow.Info.Record.Members)-1].Disk.Tap.N = 150
	if note, want := tapNote([]*run.Run{r, slow}), "; each sync costs -0.001 to 0.080 ms more under the tap (n = 150 to 200, before the load)"; note != want {
		t.Errorf("the note of slow disks is %q, want %q", note, want)
	}
	// A fault at a member given by number leaves the others without a tap.
	part := tapped(260*time.Microsecond, 330*time.Microsecond, 0)
	part.Info.Record.Members[0].Disk, part.Info.Record.Members[2].Disk = nil, &results.Disk{}
	if note, want := tapNote([]*run.Run{part}), "; each sync of member 2 costs 0.080 ms more under the tap (n = 200, before the load)"; note != want {
		t.Errorf("the note of one member with a tap is %q, want %q", note, want)
	}
	if _, text := tapRow().Cell(part); text != "member 2: 0.080 ms, 0.330 ms with and 0.250 ms without (n = 200 of each)" {
		t.Errorf("the row of one member with a tap is %q", text)
	}
}

// Several faults are described by the worst for each database.
func TestWorst(t *testing.T) {
	two := func(kill, power time.Duration) []*run.Run {
		r := recorded(t, kill, power)
		list := happened(r)
		list[1].Number, list[1].Kind, list[1].Target, list[1].For = 1, "power", faults.All, time.Second
		if err := faults.Record().Set(&r.Info.Record.Records, list); err != nil {
			t.Fatal(err)
		}
		return []*run.Run{r}
	}
	runs := [][]*run.Run{two(3*time.Second, 2*time.Second), {recorded(t)}, two(time.Second, 2*time.Second)}
	want := "At the worst of 2 faults the load got no answer from a for 3.00 s, new clients for 1.50 s, after kill of the leader for 3s; from c for 2.00 s, new clients for 1.00 s, after power cut of all members for 1s"
	if got := (Half{}).Say([]string{"a", "b", "c"}, runs); got != want {
		t.Errorf("sentence %q, want %q", got, want)
	}
	// With many databases: only the medians, by fault.
	runs, names := append(runs, two(time.Second, 3*time.Second), two(4*time.Second, time.Second), two(time.Second, 4*time.Second)), []string{"a", "b", "c", "d", "e", "f"}
	want = "At the worst of 2 faults the load got no answer after kill of the leader for 3s from a for 3.00 s and e for 4.00 s; after power cut of all members for 1s from c for 2.00 s, d for 3.00 s and f for 4.00 s"
	if got := (Half{}).Say(names, runs); got != want {
		t.Errorf("sentence %q, want %q", got, want)
	}
}

// The note below the card has the coverage of its intervals.
func TestBasis(t *testing.T) {
	columns := [][]group{groups([]*run.Run{recorded(t, 1, 2, 3, 4, 5, 6)}), groups([]*run.Run{recorded(t, 1, 2, 3, 4, 5, 6, 7)})}
	want := "Medians of repeats and, in brackets, intervals of order statistics. They cover the median with 96.9 % of 6, 98.4 % of 7 repeats."
	if got := basis(columns); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The card has only the settings that decide when a silent leader is detected.
func TestSettings(t *testing.T) {
	for want, options := range map[string]map[string]string{
		"election_timeout 1s, heartbeat_interval 100ms": {"election_timeout": "1s", "heartbeat_interval": "100ms", "snapshot_count": "10000", "log_level": "info"},
		"init_limit 100, sync_limit 5, tick_time 200":   {"tick_time": "200", "sync_limit": "5", "init_limit": "100", "snap_count": "100000", "java_xmx": "512M"},
		"raft_multiplier 1":                             {"raft_multiplier": "1", "http_max_conns_per_client": "8000", "kv_max_value_size": "0"},
	} {
		r := recorded(t, time.Second)
		r.Info.Record.OptionTexts = options
		if got := settings([]*run.Run{r}); got != "0 members, requests time out after 0s, "+want {
			t.Errorf("settings %q, want %q", got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for want, h := range map[string]faults.Asked{
		"kill of the leader for 10s":                      {Kind: "kill", Target: "leader", For: 10 * time.Second},
		"pause of member 2 for 5s":                        {Kind: "pause", Target: "2", For: 5 * time.Second},
		"rolling restart":                                 {Kind: "restart", Target: "each"},
		"rolling upgrade to v3.7.3":                       {Kind: "restart", Target: "each", Version: "v3.7.3"},
		"upgrade of member 1 to v3.7.3":                   {Kind: "restart", Target: "1", Version: "v3.7.3"},
		"stalled disk of the leader for 8s":               {Kind: "disk", Target: "leader", Fsync: "stall", For: 8 * time.Second},
		"disk of the follower that is 50ms slower for 8s": {Kind: "disk", Target: "follower", Fsync: "50ms", For: 8 * time.Second},
		"disk of the leader that fails with EIO for 8s":   {Kind: "disk", Target: "leader", Fsync: "EIO", For: 8 * time.Second},
		"kubectl delete pod etcd-0 for 20s":               {Kind: "command", Run: []string{"kubectl", "delete", "pod", "etcd-0"}, For: 20 * time.Second},
	} {
		if got := nameOf(h); got != want {
			t.Errorf("%+v: %q, want %q", h, got, want)
		}
	}
}

// The median blackout in a run is compared, unless a fault failed or was not recovered from.
func TestGauges(t *testing.T) {
	r := recorded(t, time.Second, 2*time.Second, 3*time.Second)
	list := (Half{}).Gauges(r)
	if len(list) != 1 || list[0].Label != "kill of the leader for 3s" {
		t.Fatalf("gauges %+v", list)
	}
	if m := list[0].Of(r); !m.Known() || m.Value != 2 {
		t.Errorf("blackout %+v, want 2 s", m)
	}
	calm := &run.Run{}
	calm.Info.Record = &results.DatabaseRun{}
	if m := list[0].Of(calm); m.Known() {
		t.Errorf("blackout of a run without faults: %+v", m)
	}
}

// The settings state whether connections that failed over were back before the next fault.
func TestFailedBack(t *testing.T) {
	of := func(returned ...int) *run.Run { // -1: no member was asked to, -2: one could not
		r := recorded(t, make([]time.Duration, len(returned))...)
		list := happened(r)
		for i, n := range returned {
			switch n {
			case -1:
			case -2:
				list[i].Returned, list[i].Away = new(int), 1
			default:
				list[i].Returned = &n
			}
		}
		if err := faults.Record().Set(&r.Info.Record.Records, list); err != nil {
			t.Fatal(err)
		}
		r.Info.Record.Load.Load.Failover = workload.FailoverNext
		return r
	}
	none := of(-1, -1)
	none.Info.Record.Load.Load.Failover = workload.FailoverNone
	for _, tc := range []struct {
		runs []*run.Run
		want string
	}{
		{[]*run.Run{of(-1)}, ""},
		{[]*run.Run{none}, ""},
		{[]*run.Run{of(-1, -1, -1)}, ", and connections stay there"},
		{[]*run.Run{of(0, 3, -1), of(1, -1)}, ", and back before the next fault"},
		{[]*run.Run{of(0, 3, -1), of(-1, -2, -1)}, ", and back before 2 of 4 next faults"},
	} {
		if got := failedBack(tc.runs); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
