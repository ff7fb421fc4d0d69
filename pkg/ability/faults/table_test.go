package faults

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/files/linefile"
	"github.com/coreos/dbtester/pkg/results/recovery"
)

func TestTable(t *testing.T) {
	from := time.Unix(1000, 0).UTC()
	list := []Happened{
		{Asked: Asked{Number: 1, Repeat: 2, Turn: 1, Kind: "kill", Target: Each}, Member: 2, From: from, To: from.Add(time.Second), Leaders: 1, Back: recovery.Never, P99: 5,
			Silences: []Silence{{Member: 0, Longest: 7}, {Member: 3, Longest: 9}},
			Recovery: &recovery.Recovery{Level: 99.5, Blackout: 11, BlackoutAt: -3, Below: 12, To95: recovery.Never, BacklogGone: 13, Failed: 4, Unknown: 6, Recovered: true, Until: from.Add(3 * time.Second)}},
		{Asked: Asked{Kind: Command}, Member: -1, From: from, To: from.Add(time.Second), Failed: "exit 1"},
	}
	path := filepath.Join(t.TempDir(), "faults.csv")
	if err := WriteTable(path, list); err != nil {
		t.Fatal(err)
	}
	got, err := linefile.ReadTable(path, rowColumns(), linefile.ZeroRows[Row])
	if err != nil {
		t.Fatal(err)
	}
	want := []Row{
		{Fault: 2, Repeat: 3, Turn: 2, Member: 3, Kind: "kill", Target: Each, From: from, To: from.Add(time.Second), Until: from.Add(3 * time.Second), Recovered: 1, Level: 99.5,
			BlackoutNS: 11, BlackoutAtNS: -3, SilenceNS: 7, BelowNS: 12, To95NS: -1, BacklogNS: 13, BackNS: -1, P99NS: 5, FailedRequests: 4, UnknownRequests: 6, Leaders: 1},
		{Fault: 1, Repeat: 1, Turn: 1, Kind: Command, From: from, To: from.Add(time.Second), Until: from.Add(time.Second), Failed: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestArgv(t *testing.T) {
	for want, argv := range map[string][]string{
		"": nil, "kubectl delete pod/etcd-0": {"kubectl", "delete", "pod/etcd-0"}, `sh -c "a; b" ""`: {"sh", "-c", "a; b", ""},
	} {
		if got := Argv(argv); got != want {
			t.Errorf("%q: %s, want %s", argv, got, want)
		}
	}
}
