package control

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/process/namespacetest"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// The test binary is the server of a member when started as one.
func TestMain(m *testing.M) {
	databasetest.Serve(database.NewRegistry(fake.Database(), etcd.Database()))
	if len(os.Args) > 2 && os.Args[1] == "play" {
		if err := play(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Bool("update", false, "rewrite the files that results are compared with")
	if namespacetest.Inside() {
		rigs.Store(int64(os.Getpid())) // its addresses differ from those of the process that waits for it
	}
	// A server built for the race detector otherwise takes a second to exit.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	// Tests mostly wait for processes, heartbeats, leases and loads to end.
	_ = flag.Set("test.parallel", "6") // -parallel on the command line is parsed later
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(poller.Forever))
}

// registry has the fake, and a fake whose server ends as soon as it starts.
func registry() *database.Registry {
	frailDatabase := fake.Database()
	frailDatabase.Name = "frail"
	frailDatabase.New = func() database.Driver { return &frail{fake.New()} }
	return database.NewRegistry(fake.Database(), frailDatabase)
}

// frail plans servers that don't understand their flags.
type frail struct {
	*fake.Options `yaml:",inline"`
}

func (d *frail) Plan(m database.Member) (database.Plan, error) {
	plan, err := d.Options.Plan(m)
	if err == nil && m.Index == 1 {
		plan.Commands[0].Args = append(plan.Commands[0].Args, "--bogus")
	}
	return plan, err
}
