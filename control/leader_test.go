package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// elected is a driver with a list of leaders, one after the other. No member leads at -1, and no
// member answers at -2.
type elected struct {
	database.Driver
	leaders []int
	start   time.Time

	mu    sync.Mutex
	asked []time.Duration // since start
}

func (d *elected) Leader(ctx context.Context, _ database.Target) (int, error) {
	leader := d.next()
	switch leader {
	case -1:
		return 0, errors.New("nobody leads")
	case -2:
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return leader, nil
}

// next returns the next leader in the list; the last one stays.
func (d *elected) next() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, time.Since(d.start))
	return d.leaders[min(len(d.asked), len(d.leaders))-1]
}

// watched watches the leaders of a driver for d and returns the members in events, the reported
// texts, and the watch.
func watched(t *testing.T, driver database.Driver, auth *database.Auth, first int, d time.Duration) (members []int, said []string, w *leaderWatch) {
	t.Helper()
	file := filepath.Join(t.TempDir(), results.FileEvents)
	j := &journal{report: func(u Update) { said = append(said, u.Text) }}
	if err := j.open(file); err != nil {
		t.Fatalf("open the journal: %v", err)
	}
	w = &leaderWatch{run: &run{
		db: &config.Database{}, driver: driver, journal: j, target: database.Target{Auth: auth}, record: &results.DatabaseRun{Leader: first},
	}}
	ctx, cancel := context.WithCancel(t.Context())
	watch := beside(w, false)
	if err := watch.do(ctx); err != nil {
		t.Fatalf("start the activity: %v", err)
	}
	time.Sleep(d)
	cancel() // an interrupt does not end it: its undo does
	if err := errors.Join(watch.undo(ctx), j.close()); err != nil {
		t.Fatalf("undo the watch: %v", err)
	}
	w.recordFirst()
	written, err := results.ReadEvents(file, 3)
	if err != nil {
		t.Fatalf("read the events: %v", err)
	}
	for _, e := range written {
		if e.Kind != results.EventLeader {
			t.Errorf("event %+v", e)
		}
		members = append(members, e.Member)
	}
	return members, said, w
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
		"nothing changes":         {[]int{1}, nil, nil, 19, 1},
		"an election":             {[]int{1, -1, -1, 2}, []int{2}, []string{"member 3 leads, after member 2"}, 19, 2},
		"there and back":          {[]int{1, 2, 2, 1}, []int{2, 1}, []string{"member 3 leads, after member 2", "member 2 leads, after member 3"}, 19, 1},
		"the same one is elected": {[]int{1, -1, 1}, nil, nil, 19, 1},
		"a member stands still":   {[]int{1, -2, 0}, []int{0}, []string{"member 1 leads, after member 2"}, 19, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				driver := &elected{leaders: tc.leaders, start: time.Now()}
				got, said, w := watched(t, driver, nil, 1, 10*time.Second-time.Millisecond)
				if !slices.Equal(got, tc.want) || !slices.Equal(said, tc.said) || w.run.record.Leader != tc.leads {
					t.Errorf("events of %v, said %q, %d leads; want %v, %q, %d", got, said, w.run.record.Leader, tc.want, tc.said, tc.leads)
				}
				if len(driver.asked) != tc.asked {
					t.Errorf("asked after %v; want %d times", driver.asked, tc.asked)
				}
			})
		})
	}
}

// keeper is a driver that keeps connections to ask for the leader.
type keeper struct {
	elected
	opened, closed int
}

func (d *keeper) WatchLeader(t database.Target) (func(context.Context) (int, error), func() error, error) {
	d.opened++
	return func(ctx context.Context) (int, error) { return d.Leader(ctx, t) }, func() error { d.closed++; return nil }, nil
}

// Members that must check a password do so once for a whole load.
func TestWatchLeaderByPassword(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver := &keeper{elected: elected{leaders: []int{0, 1}, start: time.Now()}}
		got, _, _ := watched(t, driver, &database.Auth{User: "u", Password: "p"}, 0, 5250*time.Millisecond)
		if len(driver.asked) != 10 || driver.opened != 1 || driver.closed != 1 || !slices.Equal(got, []int{1}) {
			t.Errorf("events of %v, asked after %v, opened %d times and closed %d times; want one event, asked twice a second over what was opened once",
				got, driver.asked, driver.opened, driver.closed)
		}
	})
}

// Requests delayed by a paused member do not delay others, and their answers do not replace later
// ones.
func TestWatchLeaderOverlaps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		driver := &elected{leaders: []int{1, -2, 2}, start: time.Now()}
		got, _, w := watched(t, driver, nil, 1, 1600*time.Millisecond)
		if !slices.Equal(got, []int{2}) || len(driver.asked) != 3 {
			t.Errorf("events of %v, asked after %v; want the new leader found by the third question, after 1.5 s", got, driver.asked)
		}
		if w.note(2, 1); w.found != 2 {
			t.Errorf("member %d leads by the answer to an older question, want 2", w.found)
		}
	})
}

// A driver that does not know its leader is not watched.
func TestWatchNoLeader(t *testing.T) {
	t.Parallel()
	got, said, w := watched(t, struct{ database.Driver }{}, nil, -1, 0)
	if len(got)+len(said) > 0 || w.run.record.Leader != -1 || w.driver != nil {
		t.Errorf("events %v, said %q, leader %d", got, said, w.run.record.Leader)
	}
}

// errElected ends a run whose leader changed.
var errElected = errors.New("another member leads")

// The leader of a real cluster is killed while a load runs, and the next one is recorded, whether
// or not agents run the members.
func TestLeaderDiesInLoad(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const load = "rate: 50, duration: 5m, clients: 4, key_size: 32, value_size: 64, timeout: 1s"
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
	killed := once(loading, func() {
		old, err := leaderOf(ctx, target)
		if err != nil {
			cancel(err)
			return
		}
		kill(old)
	})
	// On a busy machine members may elect another one before.
	var first, next int
	out, err := r.runCtx(ctx, e, func(u Update) {
		killed(u)
		var old, now int
		if n, _ := fmt.Sscanf(u.Text, "member %d leads, after member %d", &now, &old); n == 2 && next == 0 {
			first, next = old, now
			cancel(errElected)
		}
	})
	if !errors.Is(err, errElected) {
		t.Fatalf("run the experiment: %v", err)
	}
	rec := r.read(out.Folders[0], 0)
	var leaders []int
	for _, event := range rec.events {
		if event.Kind == results.EventLeader {
			leaders = append(leaders, event.Member)
		}
	}
	if want := []int{first - 1, next - 1}; len(leaders) < 2 || !slices.Equal(leaders[:2], want) || first == next {
		t.Errorf("leaders %v, want %v", leaders, want)
	}
	if rec.run.Leader != first-1 {
		t.Errorf("the manifest says that member %d led when the load began, want %d", rec.run.Leader+1, first)
	}
}

// leaderOf asks members until they report a leader: on a busy machine they may be electing one.
func leaderOf(ctx context.Context, target database.Target) (leader int, err error) {
	deadline := time.Now().Add(patience)
	for {
		leader, err = etcd.New().Leader(ctx, target)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return leader, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// The leader of a real cluster is paused or killed. The watch names the next one, as the members do
// in their own status.
func TestWatchNamesLeader(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	for name, lose := range map[string]func(*running){
		"paused": func(r *running) { r.Pause(r.leader) },
		"killed": func(r *running) { r.Kill(r.leader) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startEtcd(t)
			said := make(chan string, 100)
			j := &journal{report: func(u Update) { said <- u.Text }}
			file := filepath.Join(t.TempDir(), results.FileEvents)
			if err := j.open(file); err != nil {
				t.Fatalf("open the journal: %v", err)
			}
			w := &leaderWatch{run: &run{
				db: &config.Database{}, driver: etcd.New(), journal: j, target: r.Target(), record: &results.DatabaseRun{Leader: r.leader},
			}}
			if err := w.Prepare(t.Context()); err != nil {
				t.Fatalf("prepare the watch: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- w.Run(ctx) }()
			time.Sleep(1200 * time.Millisecond)
			lose(r)
			next, since := r.elected()
			named := fmt.Sprintf("member %d leads, after member ", next+1)
			for late := time.After(patience); ; {
				select {
				case text := <-said:
					if !strings.HasPrefix(text, named) {
						continue // on a busy machine another one led meanwhile
					}
				case <-late:
					t.Errorf("the watch does not name member %d, which leads", next+1)
				}
				break
			}
			cancel()
			if err := errors.Join(<-ended, j.close()); err != nil {
				t.Errorf("end the watch: %v", err)
			}
			events, err := results.ReadEvents(file, 3)
			at := slices.IndexFunc(events, func(e results.Event) bool { return e.Member == next })
			if err != nil || at < 0 {
				t.Fatalf("events %+v, error %v; want that member %d leads", events, err, next)
			}
			t.Logf("named %v after a member's own status", events[at].Time.Sub(since))
		})
	}
}

// elected polls the other members itself until one reports another leader, and returns that
// leader and the time.
func (r *running) elected() (leader int, since time.Time) {
	var others database.Target
	var members []int
	for i, endpoint := range r.endpoints {
		if i != r.leader {
			others.Endpoints, members = append(others.Endpoints, endpoint), append(members, i)
		}
	}
	n, err := leaderOf(r.rig.t.Context(), others)
	if err != nil {
		r.rig.t.Fatalf("no other member leads within %v: %v", patience, err)
	}
	return members[n], time.Now().UTC()
}
