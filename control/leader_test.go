package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/results"
)

// elected is a driver whose members are led by one after the other; nobody leads
// where the list says -1, and no member answers where it says -2.
type elected struct {
	database.Driver
	leaders []int
	asked   []time.Duration // since start
	start   time.Time
}

func (d *elected) Leader(ctx context.Context, _ database.Target) (int, error) {
	d.asked = append(d.asked, time.Since(d.start))
	leader := d.leaders[min(len(d.asked), len(d.leaders))-1]
	switch leader {
	case -1:
		return 0, errors.New("nobody leads")
	case -2:
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return leader, nil
}

// watched watches the leaders of a driver for so long and returns the members of
// the events.
func watched(t *testing.T, driver database.Driver, auth *database.Auth, first int, d time.Duration) (members []int, said []string, c *conductor) {
	t.Helper()
	file := filepath.Join(t.TempDir(), results.FileEvents)
	events, err := results.NewEventWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	c = &conductor{
		trialRun: &trialRun{Options: Options{Report: func(u Update) { said = append(said, u.Text) }}, manifest: &results.Manifest{}},
		db:       &config.Database{}, driver: driver, events: events, target: database.Target{Auth: auth},
		run: &results.DatabaseRun{Leader: first},
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.watchLeader(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	cancel() // an interrupt does not end it: its undo does
	if err := errors.Join(c.unwatchLeader(ctx), events.Close()); err != nil {
		t.Fatal(err)
	}
	c.noteLeader()
	written, err := results.ReadEvents(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range written {
		if e.Kind != results.EventLeader {
			t.Errorf("event %+v", e)
		}
		members = append(members, e.Member)
	}
	return members, said, c
}

func TestWatchLeader(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		leaders []int
		want    []int
		said    []string
		asked   int // in the ten seconds
		leads   int // at the end
	}{
		"nothing changes":         {[]int{1}, nil, nil, 9, 1},
		"an election":             {[]int{1, -1, -1, 2}, []int{2}, []string{"member 3 leads, after member 2"}, 9, 2},
		"there and back":          {[]int{1, 2, 2, 1}, []int{2, 1}, []string{"member 3 leads, after member 2", "member 2 leads, after member 3"}, 9, 1},
		"the same one is elected": {[]int{1, -1, 1}, nil, nil, 9, 1},
		"a member stands still":   {[]int{1, -2, 0}, []int{0}, []string{"member 1 leads, after member 2"}, 8, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				driver := &elected{leaders: tc.leaders, start: time.Now()}
				got, said, c := watched(t, driver, nil, 1, 10*time.Second-time.Millisecond)
				if !slices.Equal(got, tc.want) || !slices.Equal(said, tc.said) || c.run.Leader != tc.leads {
					t.Errorf("events of %v, said %q, %d leads; want %v, %q, %d", got, said, c.run.Leader, tc.want, tc.said, tc.leads)
				}
				if len(driver.asked) != tc.asked {
					t.Errorf("asked after %v; want %d times", driver.asked, tc.asked)
				}
			})
		})
	}
}

// Members that must check a password are not asked each second.
func TestWatchLeaderByPassword(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver := &elected{leaders: []int{0, 1}, start: time.Now()}
		got, _, _ := watched(t, driver, &database.Auth{User: "u", Password: "p"}, 0, 25*time.Second)
		if diff := cmp.Diff([]time.Duration{10 * time.Second, 20 * time.Second}, driver.asked); diff != "" || !slices.Equal(got, []int{1}) {
			t.Errorf("events of %v, asked %s", got, diff)
		}
	})
}

// A driver that does not know its leader is not watched.
func TestWatchNoLeader(t *testing.T) {
	t.Parallel()
	got, said, c := watched(t, struct{ database.Driver }{}, nil, -1, 0)
	if len(got)+len(said) > 0 || c.run.Leader != -1 || c.leader != nil {
		t.Errorf("events %v, said %q, leader %d", got, said, c.run.Leader)
	}
}

// errElected ends a run whose leader changed.
var errElected = errors.New("another member leads")

// The leader of a real cluster is killed while a load runs, and the next one is on
// record, whether agents run the members or nobody does.
func TestLeaderDiesInLoad(t *testing.T) {
	t.Parallel()
	const load = "rate: 50, duration: 40s, clients: 4, key_size: 32, value_size: 64, timeout: 1s"
	t.Run("with agents", func(t *testing.T) {
		t.Parallel()
		r := newRigOf(t, database.NewRegistry(etcd.Database()))
		e := r.experiment("load: {" + load + "}\ndatabases: {etcd: {options: {log_level: warn, unsafe_no_fsync: true}}}")
		target := database.Target{Prefer: -1}
		for _, a := range r.agents {
			target.Endpoints = append(target.Endpoints, net.JoinHostPort(a.host, strconv.Itoa(a.port)))
		}
		loseLeader(t, r, e, func(leads int) { r.kill(leads) }, target)
	})
	t.Run("without", func(t *testing.T) {
		t.Parallel()
		r := startEtcd(t)
		loseLeader(t, r.rig, r.parse(r.file(load)), r.Kill, r.Target())
	})
}

func loseLeader(t *testing.T, r *rig, e *config.Experiment, kill func(int), target database.Target) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var old, next int
	killed := once(loading, func() {
		var err error
		if old, err = etcd.New().Leader(ctx, target); err != nil {
			cancel(err)
			return
		}
		kill(old)
	})
	out, err := r.runCtx(ctx, e, func(u Update) {
		killed(u)
		var after int
		if n, _ := fmt.Sscanf(u.Text, "member %d leads, after member %d", &next, &after); n == 2 {
			cancel(errElected)
		}
	})
	if !errors.Is(err, errElected) {
		t.Fatal(err)
	}
	rec := r.read(out.Folders[0], 0)
	var leaders []int
	for _, event := range rec.events {
		if event.Kind == results.EventLeader {
			leaders = append(leaders, event.Member)
		}
	}
	if want := []int{old, next - 1}; !slices.Equal(leaders, want) || old == next-1 {
		t.Errorf("leaders %v, want %v", leaders, want)
	}
	if rec.run.Leader != old {
		t.Errorf("the manifest says that member %d led when the load began, want %d", rec.run.Leader+1, old+1)
	}
}
