package consul

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/install/recipe"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		want   []string // parts of the error, empty for a valid one
	}{
		{"defaults", func(*Options) {}, nil},
		{"upstream's multiplier", func(o *Options) { o.RaftMultiplier = 5 }, nil},
		{"multiplier", func(o *Options) { o.RaftMultiplier = 0 }, []string{"raft_multiplier must be from 1 to 10, got 0"}},
		{"large multiplier", func(o *Options) { o.RaftMultiplier = 11 }, []string{"raft_multiplier must be from 1 to 10, got 11"}},
		{"no limit", func(o *Options) { o.HTTPMaxConnsPerClient, o.RPCMaxConnsPerClient = 0, 0 }, nil},
		{"limits", func(o *Options) { o.HTTPMaxConnsPerClient, o.RPCMaxConnsPerClient, o.KVMaxValueSize = -1, -2, -3 },
			[]string{"http_max_conns_per_client must be at least 0, got -1", "rpc_max_conns_per_client must be at least 0, got -2", "kv_max_value_size must be at least 0, got -3"}},
		{"level", func(o *Options) { o.LogLevel = "loud" }, []string{`log_level must be trace, debug, info, warn or error, got "loud"`}},
		{"transport", func(o *Options) { o.Transport = "http3" }, []string{`transport must be lean or standard, got "http3"`}},
		{"flag", func(o *Options) {
			o.Flags = []string{"-hcl=performance { leave_drain_time = \"1s\" }", "-disable-host-node-id"}
		}, nil},
		{"flag of the plan", func(o *Options) { o.Flags = []string{"-data-dir=/"} }, []string{`flag "-data-dir=/"`}},
		{"plan undone in HCL", func(o *Options) { o.Flags = []string{`-hcl=Data_Dir = "/"`} }, []string{"has the key Data_Dir"}},
		{"plan undone in spelled HCL", func(o *Options) { o.Flags = []string{`-hcl="data\u005fdir" = "/"`} }, []string{"must have no backslash"}},
		{"log elsewhere", func(o *Options) { o.Flags = []string{"-log-file=/etc/x"} }, []string{`flag "-log-file=/etc/x"`}},
		{"two dashes", func(o *Options) { o.Flags = []string{"--bind=0.0.0.0"} }, []string{`flag "--bind=0.0.0.0"`}},
		{"two arguments", func(o *Options) { o.Flags = []string{"-alt-domain", "x"} }, []string{`flag "x"`}},
		{"in memory", func(o *Options) { o.Flags = []string{"-dev"} }, []string{`flag "-dev"`}},
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

func TestPlan(t *testing.T) {
	o := New()
	o.RaftMultiplier, o.KVMaxValueSize, o.Flags = 5, 1000, []string{"-alt-domain=x"}
	hosts := Database().Info.FillPorts([]database.Host{{Addr: "::1", Ports: map[string]int{"client": 1, "server": 2, "serf_lan": 3}}})
	m := database.Member{Hosts: hosts, Dir: "/m", Tools: map[string]string{Name: "/opt/consul"}}
	plan, err := o.Plan(m)
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	var config struct {
		Performance map[string]int
		Limits      map[string]int
		Ports       map[string]int
	}
	if err := json.Unmarshal([]byte(plan.Files[0].Content), &config); err != nil {
		t.Fatalf("decode JSON: %v", err)
	}
	if config.Performance["raft_multiplier"] != 5 || config.Limits["kv_max_value_size"] != 1000 ||
		config.Ports["http"] != 1 || config.Ports["server"] != 2 || config.Ports["serf_lan"] != 3 || config.Ports["dns"] != -1 {
		t.Errorf("configuration: %+v", config)
	}
	args := strings.Join(plan.Commands[0].Args, " ")
	for _, want := range []string{"-bootstrap-expect=1 ", "-bind=::1 -client=::1 ", " -config-file=/m/consul.json -alt-domain=x"} {
		if !strings.Contains(args, want) {
			t.Errorf("%q lacks %q", args, want)
		}
	}
	if strings.Contains(args, "retry-join") {
		t.Errorf("a lone member joins: %s", args)
	}
	if plan.Listen[0] != "[::1]:1" {
		t.Errorf("listens on %v", plan.Listen)
	}
	for name, change := range map[string]func(*database.Member){
		"not among the hosts": func(m *database.Member) { m.Index = 1 },
		"no executable":       func(m *database.Member) { m.Tools = nil },
		"a name":              func(m *database.Member) { m.Hosts = []database.Host{{Addr: "db1", Ports: hosts[0].Ports}} },
	} {
		broken := m
		change(&broken)
		if _, err := o.Plan(broken); err == nil {
			t.Errorf("%s: there is a plan", name)
		}
	}
}

func TestRecipes(t *testing.T) {
	tests := []struct {
		version string
		kinds   string // empty for an error
		notes   int    // from the build
	}{
		{"1.16.0", "archive, go build", 1},
		{"1.21.0", "archive, go build", 0},
		{"1.20.6", "archive, go build", 0},
		{"1.20.5", "archive", 0},
		{"1.17.0-rc1", "archive", 0},
		{"1.16.0+ent", "archive", 0},
		{"1.14.0", "archive", 0},
		{"1.100.0", "archive", 0},
		{"1.13.9", "", 0},
		{"1.0.2", "", 0},
		{"0.9.0", "", 0},
		{"1.16", "", 0},
		{"latest", "", 0},
		{"", "", 0},
		{"1.16.0/../x", "", 0},
	}
	for _, tt := range tests {
		recipes, err := New().Recipes(tt.version)
		if (err != nil) != (tt.kinds == "") {
			t.Errorf("%q: %v", tt.version, err)
		}
		var kinds []string
		for _, r := range recipes {
			kinds = append(kinds, r.Kind())
			if build, ok := r.(recipe.GoBuild); ok {
				if !strings.Contains(build.GoMod, "github.com/hashicorp/consul v"+tt.version) || build.GoSum == "" || len(build.Notes) != tt.notes {
					t.Errorf("%q: the build is %+v of %s", tt.version, build.About, build.GoMod)
				}
			}
		}
		if got := strings.Join(kinds, ", "); got != tt.kinds {
			t.Errorf("%q: %s, want %s", tt.version, got, tt.kinds)
		}
	}
}

func TestLeaderOf(t *testing.T) {
	servers := []string{"a:1", "b:1", ""}
	tests := []struct {
		leaders []string
		want    int // -1 for an error
	}{
		{[]string{"b:1", "b:1", ""}, 1},
		{[]string{"a:1", "b:1", "b:1"}, 1},
		{[]string{"a:1", "", ""}, 0},
		{[]string{"", "", ""}, -1},
		{[]string{"c:1", "c:1", ""}, -1},
	}
	for _, tt := range tests {
		got, err := leaderOf(tt.leaders, servers, nil)
		if (err != nil) != (tt.want < 0) || (err == nil && got != tt.want) {
			t.Errorf("%q: %d, %v; want %d", tt.leaders, got, err, tt.want)
		}
	}
}
