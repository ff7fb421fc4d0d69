package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/coreos/dbtester/tools/audit/realstore"
)

// RealCase is a fault on three members of a real database during a load. The truth is the key count
// from the database itself.
type RealCase struct {
	Database realDatabase
	Fault    Fault
	// Small cases also run at small scale.
	Small bool
}

// Fault happens in the middle of the load, and must be visible in the records.
type Fault struct {
	Name string
	// Do causes the fault for about last. It returns how long the fault lasted, or 0 if it does not
	// end.
	Do    func(ctx context.Context, cluster *realstore.Cluster, control *os.Process, last time.Duration) (time.Duration, error)
	Check func(f *Findings, r *Run, lasted time.Duration)
}

// realCases returns every fault on every database; at small scale, each fault once.
func realCases() (cases []RealCase) {
	for d, database := range realDatabases() {
		for n, fault := range []Fault{leaderKilled(), followerStopped(), controlStarved()} {
			cases = append(cases, RealCase{Database: database, Fault: fault, Small: n == d})
		}
	}
	return cases
}

// Name is the case title.
func (c RealCase) Name() string { return "real " + c.Database.name + ": " + c.Fault.Name }

const (
	realClients = 30
	realRate    = 200
	// election is the longest time in which members should elect a new leader. Consul refuses
	// requests at once meanwhile.
	election = 3 * time.Second
)

func leaderKilled() Fault {
	return Fault{
		Name: "the leader is killed",
		Do: func(ctx context.Context, cluster *realstore.Cluster, _ *os.Process, _ time.Duration) (time.Duration, error) {
			leader, err := cluster.Leader(ctx)
			if err == nil {
				cluster.Kill(leader)
			}
			return 0, err
		},
		Check: func(f *Findings, r *Run, _ time.Duration) {
			bad := r.Record.Totals["failed"] + r.Record.Totals["unknown"]
			f.Within("failed and unknown requests: those in flight, and those due in the election", 0, bad, 3*realClients+realRate*election.Seconds())
			names := r.Report.Named("RECONNECT")
			f.Holds("reconnects are a row", len(names) > 0, "a row", orMissing(names))
			// etcd's followers hold requests they forwarded to the dead leader for up to 7 s, which
			// may occupy all clients until a short load ends.
			if n := len(r.Record.Intervals); n > 1 && r.length() > 15*time.Second {
				last := r.Record.Intervals[n-2].Num("ok") // the last whole second
				f.Within("answers in the last second, through the other members", 1, last, 2*realRate)
			}
		},
	}
}

func followerStopped() Fault {
	return Fault{
		Name: "a follower is stopped and continues",
		Do: func(ctx context.Context, cluster *realstore.Cluster, _ *os.Process, last time.Duration) (time.Duration, error) {
			leader, err := cluster.Leader(ctx)
			if err != nil {
				return 0, err
			}
			follower := (leader + 1) % len(cluster.Endpoints())
			began := time.Now()
			cluster.Pause(follower)
			_ = pause(ctx, last, func() {}) // continue the member even if ctx has ended
			cluster.Resume(follower)
			return time.Since(began), nil
		},
		Check: func(f *Findings, r *Run, lasted time.Duration) {
			f.Equal("failed and unknown requests", 0, r.Record.Totals["failed"]+r.Record.Totals["unknown"])
			// Its clients' requests became due evenly, so one came within about 100 ms after the
			// stop.
			f.Within("SLOWEST-LATENCY, ms", 1000*lasted.Seconds()-300, r.Report.Value("SLOWEST-LATENCY"), 1000*lasted.Seconds()+2500)
		},
	}
}

func controlStarved() Fault {
	return Fault{
		Name: "control is stopped, the members are not",
		Do: func(ctx context.Context, _ *realstore.Cluster, control *os.Process, last time.Duration) (time.Duration, error) {
			began := time.Now()
			stopFor(ctx, control, last)
			return time.Since(began), nil
		},
		Check: func(f *Findings, r *Run, lasted time.Duration) {
			blamed(f, r, lasted)
			f.Equal("failed and unknown requests", 0, r.Record.Totals["failed"]+r.Record.Totals["unknown"])
		},
	}
}

// real runs a case: first a load without the fault, which shows the number of entries that do not
// come from the load, then a load with it.
func (a *auditor) real(ctx context.Context, c RealCase) (v Verdict) {
	v.Case = Case{Name: c.Name(), Found: "no truth from the servers themselves"}
	store, err := a.store(ctx, c.Database)
	if err != nil {
		v.Error = err
		return v
	}
	dir := filepath.Join(a.dir, strings.NewReplacer(" ", "-", ":", "", ",", "").Replace(c.Name()))
	cluster, err := realstore.Start(ctx, store, filepath.Join(dir, "members"), [...]string{"127.0.61.1", "127.0.61.2", "127.0.61.3"})
	if err != nil {
		v.Error = err
		return v
	}
	f := &Findings{}
	err = a.compare(ctx, f, c, cluster, dir)
	v.Checks, v.Error = f.Checks, errors.Join(err, cluster.Close())
	return v
}

// compare runs both loads and compares each with the key counts in the members.
func (a *auditor) compare(ctx context.Context, f *Findings, c RealCase, cluster *realstore.Cluster, dir string) error {
	first := Plan{Load: "operation: write, requests: 500, clients: 10, " + small}
	r, err := a.control(ctx, first, c.Database.name, cluster.Endpoints(), filepath.Join(dir, "first"), func(*os.Process, <-chan struct{}) error { return nil })
	if err != nil {
		return err
	}
	if r.Record == nil {
		return fmt.Errorf("no records: %s", lastLine(r.Output))
	}
	before, err := cluster.Keys(ctx)
	if err != nil {
		return err
	}
	f.Within("a quiet load: ok <= entries of the members", r.Record.Totals["ok"], float64(before), r.Record.Totals["ok"]+layout)
	length := a.scale.Pick(7*time.Second, 20*time.Second)
	plan := Plan{
		Exit: exitAny, // depends on how long the fault lasts
		Load: fmt.Sprintf("operation: write, rate: %d, clients: %d, duration: %v, timeout: 8s, failover: next, %s", realRate, realClients, length, small),
	}
	lasted := time.Duration(0)
	r, err = a.control(ctx, plan, c.Database.name, cluster.Endpoints(), filepath.Join(dir, "fault"), func(control *os.Process, ended <-chan struct{}) error {
		if !loading(filepath.Join(dir, "fault"), ended) {
			return errors.New("control ended before its load")
		}
		lasted, err = c.Fault.Do(ctx, cluster, control, a.scale.Pick(1500*time.Millisecond, 5*time.Second))
		return err
	})
	if err != nil {
		return err
	}
	if r.Record == nil {
		return fmt.Errorf("no records: %s", lastLine(r.Output))
	}
	records(f, "", r)
	after, err := cluster.Keys(ctx)
	if err != nil {
		return err
	}
	t := r.Record.Totals
	f.Within("ok <= keys that the members counted <= ok + unknown", t["ok"], float64(after-before), t["ok"]+t["unknown"])
	c.Fault.Check(f, r, lasted)
	return nil
}

// layout bounds the entries that a load did not write: the parents of keys in ZooKeeper, documented
// as 1,000, and the server's own nodes.
const layout = 1010

// loading waits until the first second of a load is recorded. It returns false if control ended
// before that.
func loading(dir string, ended <-chan struct{}) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		files, _ := filepath.Glob(filepath.Join(dir, "results", "*", "*", "*", "intervals.csv")) // the pattern is right
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil && strings.Count(string(text), "\n") >= 2 {
				return true
			}
		}
		select {
		case <-tick.C:
		case <-ended:
			return false
		}
	}
}

// realDatabase is a database built into the audited program or installed by it.
type realDatabase struct {
	name, release string // empty release: built in
	store         func(program, release string) realstore.Store
}

func realDatabases() []realDatabase {
	return []realDatabase{
		{"etcd", "", func(program, _ string) realstore.Store { return realstore.Etcd{Program: program} }},
		{"zookeeper", "3.9.5", func(_, dir string) realstore.Store { return realstore.ZooKeeper{Jars: filepath.Join(dir, "lib")} }},
		{"consul", "1.16.0", func(_, dir string) realstore.Store { return realstore.Consul{Binary: filepath.Join(dir, "consul")} }},
	}
}

// store makes the audited program install the database release.
func (a *auditor) store(ctx context.Context, d realDatabase) (realstore.Store, error) {
	if d.release == "" {
		return d.store(a.program, ""), nil
	}
	if out, err := exec.CommandContext(ctx, a.program, "install", d.name+"@"+d.release).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("install %s %s: %w: %s", d.name, d.release, err, lastLine(string(out)))
	}
	cache, err := os.UserCacheDir()
	return d.store(a.program, filepath.Join(cache, "dbtester", d.name, d.release)), err
}
