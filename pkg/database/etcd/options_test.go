package etcd

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		want   []string // parts of the error, empty for a valid one
	}{
		{"defaults", func(*Options) {}, nil},
		{"quota of the server", func(o *Options) { o.QuotaBackendBytes = 0 }, nil},
		{"largest quota", func(o *Options) { o.QuotaBackendBytes = 8 << 30 }, nil},
		{"quota", func(o *Options) { o.QuotaBackendBytes = 8<<30 + 1 }, []string{"quota_backend_bytes must be at most", "8 GiB", "got 8589934593"}},
		{"negative quota", func(o *Options) { o.QuotaBackendBytes = -1 }, []string{"quota_backend_bytes must be at least 0, got -1"}},
		{"snapshots", func(o *Options) { o.SnapshotCount = 0 }, []string{"snapshot_count must be at least 1, got 0"}},
		{"fine heartbeat", func(o *Options) { o.HeartbeatInterval = 1500 * time.Microsecond }, []string{"heartbeat_interval must be", "got 1.5ms"}},
		{"no heartbeat", func(o *Options) { o.HeartbeatInterval = 0 }, []string{"heartbeat_interval must be", "got 0s"}},
		{"short election", func(o *Options) { o.ElectionTimeout = 499 * time.Millisecond }, []string{"election_timeout must be at least 5 x", "got 499ms"}},
		{"long election", func(o *Options) { o.ElectionTimeout = time.Minute }, []string{"at most 50s"}},
		{"level", func(o *Options) { o.LogLevel = "loud" }, []string{`log_level must be`, `got "loud"`}},
		{"all at once", func(o *Options) { o.SnapshotCount, o.LogLevel = -1, "" }, []string{"snapshot_count", "log_level"}},
		{"flag", func(o *Options) { o.Flags = []string{"--max-txn-ops=256", "--pre-vote"} }, nil},
		{"flag of the plan", func(o *Options) { o.Flags = []string{"--data-dir=/"} }, []string{`flag "--data-dir=/"`}},
		{"plan undone", func(o *Options) { o.Flags = []string{"--wal-dir=/"} }, []string{`flag "--wal-dir=/"`}},
		{"two arguments", func(o *Options) { o.Flags = []string{"--max-txn-ops", "256"} }, []string{`flag "256"`}},
		{"one dash", func(o *Options) { o.Flags = []string{"-name=x"} }, []string{`flag "-name=x"`}},
		{"nothing", func(o *Options) { o.Flags = []string{"--"} }, []string{`flag "--"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := New()
			tt.change(o)
			err := o.Validate(database.HostFacts{})
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("got %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q lacks %q", err, part)
				}
			}
		})
	}
}

func TestValidateTransport(t *testing.T) {
	for transport, want := range map[database.Transport]bool{database.Lean: true, database.Standard: true, transportGRPC: true, transportLibrary: true, "": false, "udp": false} {
		d := New()
		d.Transport = transport
		if err := d.Validate(database.HostFacts{}); (err == nil) != want {
			t.Errorf("transport %q: %v", transport, err)
		}
	}
}

func TestValidatePings(t *testing.T) {
	for _, c := range []struct {
		pings     string
		transport database.Transport
		want      bool
	}{
		{pingsAtOnce, database.Lean, true}, {pingsAtOnce, database.Standard, true}, {pingsWithRequests, database.Lean, true},
		{pingsWithRequests, database.Standard, false}, {pingsWithRequests, transportLibrary, false}, {"", database.Lean, false}, {"never", database.Lean, false},
	} {
		d := New()
		d.Pings, d.Transport = c.pings, c.transport
		if err := d.Validate(database.HostFacts{}); (err == nil) != c.want {
			t.Errorf("pings %q with transport %q: %v", c.pings, c.transport, err)
		}
	}
}

func TestFsync(t *testing.T) {
	tests := []struct {
		options Server
		want    string
	}{
		{Server{}, fsyncEach},
		{Server{UnsafeNoFsync: true}, fsyncNever},
		{Server{Flags: []string{"--unsafe-no-fsync"}}, fsyncNever},
		{Server{Flags: []string{"--unsafe-no-fsync=true"}}, fsyncNever},
		{Server{Flags: []string{"--unsafe-no-fsync=false"}}, fsyncEach},
	}
	for _, tt := range tests {
		if got := tt.options.Fsync(); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.options, got, tt.want)
		}
	}
}

// The server in this binary must understand the planned flags, value for value, and must refuse
// flags it does not understand.
func TestParse(t *testing.T) {
	o := New()
	o.UnsafeNoFsync = true
	o.Flags = []string{"--max-concurrent-streams=77", "--max-txn-ops=3"}
	hosts := Database().Info.FillPorts([]database.Host{{Addr: "10.0.0.1"}, {Addr: "10.0.0.2"}})
	cfg, err := parse(o.args(database.Member{Index: 1, Hosts: hosts, Dir: "/m"}))
	if err != nil {
		t.Fatalf("parse the flags: %v", err)
	}
	if cfg.Name != "etcd-2" || cfg.Dir != "/m/data" || cfg.InitialClusterToken != "dbtester" || cfg.ClusterState != "new" ||
		cfg.InitialCluster != "etcd-1=http://10.0.0.1:2380,etcd-2=http://10.0.0.2:2380" {
		t.Errorf("cluster: %s %s %s %s %s", cfg.Name, cfg.Dir, cfg.InitialClusterToken, cfg.ClusterState, cfg.InitialCluster)
	}
	if got := cfg.ListenClientUrls[0].String() + cfg.AdvertiseClientUrls[0].String(); got != "http://10.0.0.2:2379http://10.0.0.2:2379" {
		t.Errorf("client URLs: %s", got)
	}
	if got := cfg.ListenPeerUrls[0].String() + cfg.AdvertisePeerUrls[0].String(); got != "http://10.0.0.2:2380http://10.0.0.2:2380" {
		t.Errorf("peer URLs: %s", got)
	}
	if cfg.SnapshotCount != 100_000 || cfg.QuotaBackendBytes != 8_000_000_000 || cfg.TickMs != 100 || cfg.ElectionMs != 1000 ||
		!cfg.UnsafeNoFsync || cfg.MaxConcurrentStreams != 77 || cfg.MaxTxnOps != 3 || cfg.LogOutputs[0] != "stderr" {
		t.Errorf("settings: %+v", cfg)
	}
}

func TestParseRefuses(t *testing.T) {
	good := NewServer().args(database.Member{Hosts: []database.Host{{Addr: "10.0.0.1", Ports: Database().Info.Ports}}, Dir: "/m"})
	tests := map[string]string{
		"--no-such-flag":                 "no-such-flag",
		"--experimental-bogus=1":         "experimental-bogus",
		"word":                           `arguments must be flags, got "word"`,
		"--cors=http://a:1":              "does not support --cors",
		"--discovery-endpoints=a:1":      "does not support --discovery-endpoints",
		"--initial-cluster-state=newish": "newish",
		"--election-timeout=100":         "election-timeout",
	}
	for arg, want := range tests {
		if _, err := parse(append(good[:len(good):len(good)], arg)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", arg, err, want)
		}
	}
}

func TestPlanRuns(t *testing.T) {
	m := database.Member{Index: 0, Hosts: []database.Host{{Addr: "::1", Ports: map[string]int{"client": 1, "peer": 2}}}, Dir: "/m"}
	built, err := New().Plan(m)
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	m.Tools = map[string]string{Name: "/opt/etcd"}
	external, err := New().Plan(m)
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	b, e := built.Commands[0], external.Commands[0]
	if !b.Self || b.Path != "" || e.Self || e.Path != "/opt/etcd" {
		t.Errorf("built-in %+v, external %+v", b, e)
	}
	if b.Args[0] != Name || strings.Join(b.Args[1:], " ") != strings.Join(e.Args, " ") {
		t.Errorf("the flags differ:\n%v\n%v", b.Args, e.Args)
	}
	if built.Listen[0] != "[::1]:1" || !strings.Contains(strings.Join(e.Args, " "), "--listen-peer-urls=http://[::1]:2") {
		t.Errorf("IPv6: %v %v", built.Listen, e.Args)
	}
	m.Index = 1
	if _, err := New().Plan(m); err == nil {
		t.Error("a member that is not among the hosts has a plan")
	}
}
