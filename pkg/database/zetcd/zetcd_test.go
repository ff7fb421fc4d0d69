package zetcd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// The etcd below runs from the test binary.
func TestMain(m *testing.M) {
	databasetest.Main(m, database.NewRegistry(Database(), etcd.Database()))
}

func suite(t testing.TB) databasetest.Suite {
	return databasetest.Suite{
		PrefixOptions: "key_parents: 20\n",
		Database:      Database(),
		Addrs:         []string{"127.0.8.1", "127.0.8.2", "127.0.8.3"},
		Tools:         databasetest.Release(t, Database(), version),
	}
}

func TestConformance(t *testing.T) { databasetest.Run(t, suite(t)) }

func TestConformanceStandard(t *testing.T) {
	s := suite(t)
	s.Options, s.Part = "transport: standard", databasetest.Clients
	databasetest.Run(t, s)
}

// A hundred clients create keys at once, no client makes another fail, and the count is exact.
func TestClientsAtOnce(t *testing.T) {
	const clients, each = 100, 5
	s := suite(t)
	s.Options = "election_timeout: 5s" // the proxy closes sessions during an election
	s.Addrs = []string{"127.0.8.4", "127.0.8.5", "127.0.8.6"}
	c := databasetest.Start(t, s, 3)
	slots := make(chan struct{}, 32)
	var wg sync.WaitGroup
	for i := range clients {
		slots <- struct{}{}
		wg.Go(func() {
			target := c.To(i % 3)
			target.MaxBytes = 256 + 1024
			ctx, cancel := context.WithTimeout(t.Context(), databasetest.Patience)
			defer cancel()
			conn, err := c.Driver().Dial(ctx, target)
			<-slots
			if err != nil {
				t.Errorf("dial the member: %v", err)
				return
			}
			defer conn.Close()
			for n := range each {
				if err := conn.Put(ctx, fmt.Appendf(nil, "%0256d", i*each+n), make([]byte, 1024)); err != nil {
					t.Errorf("put a key: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	n, err := c.Driver().(database.Counter).CountKeys(t.Context(), c.Target())
	if err != nil || n != clients*each {
		t.Errorf("%d keys, %v; want %d", n, err, clients*each)
	}
}

func member(tools map[string]string) database.Member {
	hosts := Database().Info.FillPorts([]database.Host{{Addr: "10.0.0.1"}, {Addr: "::1"}})
	return database.Member{Index: 1, Hosts: hosts, Dir: "/m", Tools: tools}
}

// The proxy speaks to its own etcd, either the one in this binary or the tool.
func TestPlan(t *testing.T) {
	built, err := New().Plan(member(map[string]string{Name: "/opt/zetcd"}))
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	tool, err := New().Plan(member(map[string]string{Name: "/opt/zetcd", etcd.Name: "/opt/etcd"}))
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	if b, e := built.Commands[0], tool.Commands[0]; !b.Self || e.Self || e.Path != "/opt/etcd" || cmp.Diff(b.Args[1:], e.Args) != "" {
		t.Errorf("built-in %+v, tool %+v", b, e)
	}
	want := database.Command{
		Name: Name, Path: "/opt/zetcd", Args: []string{"-zkaddr", "[::1]:2181", "-endpoints", "[::1]:2379", "-logtostderr"},
		WaitListen: []string{"[::1]:2181"}, Env: []string{"TZ=UTC"},
	}
	if diff := cmp.Diff(want, built.Commands[1]); diff != "" {
		t.Errorf("proxy (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"[::1]:2379"}, built.Commands[0].WaitListen); diff != "" {
		t.Errorf("the proxy starts before its etcd listens (-want +got):\n%s", diff)
	}
	if _, err := New().Plan(member(map[string]string{etcd.Name: "/opt/etcd"})); err == nil || !strings.Contains(err.Error(), "no zetcd executable") {
		t.Errorf("without a proxy: %v", err)
	}
	outside := member(map[string]string{Name: "/opt/zetcd"})
	outside.Index = 2
	if _, err := New().Plan(outside); err == nil {
		t.Error("a member that is not among the hosts has a plan")
	}
}

// The etcd options are at the top, and checked.
func TestOptions(t *testing.T) {
	o := New()
	if err := yamlfile.DecodeOptions([]byte("{key_parents: 5, snapshot_count: 7, unsafe_no_fsync: true, flags: [--pre-vote]}"), o); err != nil {
		t.Fatalf("decode options: %v", err)
	}
	if o.KeyParents != 5 || o.Etcd.SnapshotCount != 7 || o.Fsync() != o.Etcd.Fsync() || o.Fsync() == New().Fsync() || len(o.ExtraFlags()) != 1 {
		t.Errorf("options: %+v", o)
	}
	if err := o.Validate(database.HostFacts{}); err != nil {
		t.Errorf("validate the options: %v", err)
	}
	o.KeyParents, o.Etcd.SnapshotCount, o.Transport = 0, 0, "grpc"
	err := o.Validate(database.HostFacts{})
	if err == nil || !strings.Contains(err.Error(), "key_parents must be from 1 to 100000, got 0") || !strings.Contains(err.Error(), "snapshot_count must be at least 1, got 0") || !strings.Contains(err.Error(), `transport must be lean or standard, got "grpc"`) {
		t.Errorf("not all are refused: %v", err)
	}
}

func TestRecipes(t *testing.T) {
	recipes, err := New().Recipes(version)
	if err != nil || len(recipes) != 1 || recipes[0].Kind() != "go build" {
		t.Errorf("recipes %v: %v", recipes, err)
	}
	if !strings.Contains(goMod, "github.com/coreos/zetcd v"+version) {
		t.Error("go.mod is for another version")
	}
	for _, other := range []string{"", "0.0.4", "beta", "latest"} {
		if _, err := New().Recipes(other); err == nil {
			t.Errorf("version %q can be had", other)
		}
	}
}
