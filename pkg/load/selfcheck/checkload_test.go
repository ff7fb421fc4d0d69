package selfcheck

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/database/consul"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/zookeeper"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// short returns a load for a busy machine.
func short(op workload.Op, rate float64) workload.Load {
	return workload.Load{
		Content:  workload.Content{Operation: op, Read: workload.ReadStale},
		Extent:   workload.Extent{Clients: 10, Connections: 10, Requests: 1000},
		Pace:     workload.Pace{Rate: rate, Arrival: workload.ArrivalConstant},
		Sizing:   workload.Sizing{KeySize: 16, ValueSize: 64},
		Limits:   workload.Limits{Timeout: 5 * time.Second, Drain: 5 * time.Second},
		Keyspace: workload.Keyspace{KeyLaw: workload.KeysUniform, Keys: 100},
	}
}

// drivers returns the drivers for databases with a mirror, over both transports.
func drivers() map[string]database.Driver {
	list := map[string]database.Driver{}
	for _, transport := range []database.Transport{database.Lean, database.Standard} {
		e, z, c := etcd.New(), zookeeper.New(), consul.New()
		e.Transport, z.Transport, c.Transport = transport, transport, transport
		list["etcd/"+string(transport)], list["zookeeper/"+string(transport)], list["consul/"+string(transport)] = e, z, c
	}
	return list
}

// Writes in a closed loop and reads with a rate: the delay of the server is known, and the latency
// that the client adds is positive.
func TestCheckLoad(t *testing.T) {
	t.Parallel()
	for name, driver := range drivers() {
		for _, l := range []workload.Load{short(workload.OpWrite, 0), short(workload.OpRead, 400)} {
			t.Run(name+"/"+string(l.Operation), func(t *testing.T) {
				t.Parallel()
				db, _, _ := strings.Cut(name, "/")
				c, err := CheckLoad(t.Context(), LoadOptions{
					Server: selfArgv(t, mirrorArg), Database: db, Driver: driver, Load: l, Seed: 1, Duration: 500 * time.Millisecond,
				})
				if err != nil {
					t.Fatalf("check the load: %v", err)
				}
				t.Logf("%+v, lateness %+v", c, c.Lateness)
				checkLoadCheck(t, c, l)
			})
		}
	}
}

func checkLoadCheck(t *testing.T, c *results.LoadCheck, l workload.Load) {
	t.Helper()
	// No upper bounds: a loaded machine delays both processes.
	switch {
	case c.Unavailable != "":
		t.Fatalf("the load must be checked, got %q", c.Unavailable)
	case c.Delay != usualDelay || c.P50.True < int64(c.Delay):
		t.Errorf("the true median is %v, want more than %v, the server's delay", time.Duration(c.P50.True), c.Delay)
	case c.P50.Added() <= 0:
		t.Errorf("the client added %v at the median, want more than 0", time.Duration(c.P50.Added()))
	case c.P99.Measured < c.P50.Measured || c.P99.True < c.P50.True || c.P99.N != c.P50.N:
		t.Errorf("p99 %+v must not be below p50 %+v", c.P99, c.P50)
	case l.Rate > 0 && (c.P50.N != 200 || c.Lateness == nil):
		t.Errorf("n %d, lateness %v: want 200, at %v/s for %v, and how late they were sent", c.P50.N, c.Lateness, l.Rate, c.Duration)
	case l.Rate == 0 && (c.P50.N < 1 || c.Lateness != nil || c.RequestsPerSecond <= 0):
		t.Errorf("n %d, lateness %v, %v requests per second: want a closed loop's", c.P50.N, c.Lateness, c.RequestsPerSecond)
	}
}

func TestCheckLoadUnavailable(t *testing.T) {
	for _, c := range []struct {
		change func(*LoadOptions)
		want   string
	}{
		{func(o *LoadOptions) { o.Secured = true }, "not available for connections with TLS or credentials"},
		{func(o *LoadOptions) { o.Load.Operation = workload.OpSwap }, "not available for the operation swap"},
		{func(o *LoadOptions) { o.Database, o.Driver = "other", nil }, "not available for other"},
	} {
		o := LoadOptions{Server: []string{"/nonexistent"}, Database: etcd.Name, Driver: etcd.New(), Load: short(workload.OpWrite, 0)}
		c.change(&o)
		got, err := CheckLoad(t.Context(), o)
		if err != nil || got.Unavailable != c.want {
			t.Errorf("got %+v, error %v; want the reason %q, and no server", got, err, c.want)
		}
	}
}

func TestHeaviest(t *testing.T) {
	for _, c := range []struct {
		steps []workload.Step
		want  workload.Step
		delay time.Duration
	}{
		{[]workload.Step{{Clients: 1}, {Clients: 1000, Ramp: 1}, {Clients: 10}}, workload.Step{Clients: 1000}, 100 * time.Millisecond},
		{[]workload.Step{{Clients: 100}, {Clients: 10, Rate: 1000, RateEnd: 5000}}, workload.Step{Clients: 10, Rate: 5000}, time.Millisecond},
		{[]workload.Step{{Clients: 10, Rate: 10}, {Clients: 9, Rate: 9}}, workload.Step{Clients: 10, Rate: 10}, usualDelay},
	} {
		c.want.Duration = time.Second
		got := heaviest(c.steps, time.Second)
		if got != c.want || delayOf(got) != c.delay {
			t.Errorf("of %+v: %+v with a delay of %v, want %+v with %v", c.steps, got, delayOf(got), c.want, c.delay)
		}
	}
}

// Every database in the registry has a mirror: no mirror refuses the check.
func TestMirrors(t *testing.T) {
	for _, db := range all.Registry().All() {
		if _, ok := db.New().(database.Mirror); !ok {
			t.Errorf("%s has no mirror", db.Name)
		}
	}
}
