package control

import (
	"bufio"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/ability/membermetrics"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/metric"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// running is an etcd with three members, without agents.
type running struct {
	*rig
	*databasetest.Cluster
	endpoints []string
	leader    int
}

// steady is an etcd option with which members on a busy machine keep their leader. The first
// election takes a second longer.
const steady = "election_timeout: 5s"

func startEtcd(t *testing.T, more ...string) *running {
	t.Helper()
	return startEtcdWith(t, func([]string) *database.TLS { return nil }, more...)
}

// startEtcdWith starts members with the files that tls makes for their addresses, and with more
// options.
func startEtcdWith(t *testing.T, tls func(addrs []string) *database.TLS, more ...string) *running {
	t.Helper()
	r := newRigOf(t, database.NewRegistry(etcd.Database()))
	options := append([]string{"log_level: warn", "unsafe_no_fsync: true", "flags: [--bcrypt-cost=4]"}, more...)
	s := databasetest.Suite{Database: etcd.Database(), Options: "{" + strings.Join(options, ", ") + "}"}
	for _, a := range r.agents {
		s.Addrs = append(s.Addrs, a.host)
	}
	s.TLS = tls(s.Addrs)
	c := databasetest.Start(t, s, rigSize)
	leader, err := leaderOf(t.Context(), c.Target())
	if err != nil {
		t.Fatalf("ask for the leader: %v", err)
	}
	return &running{rig: r, Cluster: c, endpoints: c.Target().Endpoints, leader: leader}
}

// file returns an experiment with a load on the members, ordered by address.
func (r *running) file(load string) string {
	return fmt.Sprintf("title: elsewhere\nresults: %s\nload: {%s}\ndatabases: {etcd: {endpoints: ['%s']}}\n",
		r.results, load, strings.Join(r.endpoints, "', '"))
}

// puts returns the number of puts that each member received, by its own count.
func (r *running) puts() []int {
	r.rig.t.Helper()
	var all []int
	for _, e := range r.endpoints {
		resp, err := http.Get("http://" + e + "/metrics")
		if err != nil {
			r.rig.t.Fatalf("get the metrics: %v", err)
		}
		n := 0
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "grpc_server_started_total{") && strings.Contains(lines.Text(), `grpc_method="Put"`) {
				if _, err := fmt.Sscan(lines.Text()[strings.LastIndexByte(lines.Text(), ' '):], &n); err != nil {
					r.rig.t.Fatalf("parse the number: %v", err)
				}
			}
		}
		if err := resp.Body.Close(); err != nil {
			r.rig.t.Fatalf("close the body: %v", err)
		}
		all = append(all, n)
	}
	http.DefaultClient.CloseIdleConnections()
	return all
}

// Only the targeted members get requests, by their own counts.
func TestTarget(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := startEtcd(t, steady)
	follower := (r.leader + 1) % rigSize
	all := []int{0, 1, 2}
	others := []int{(r.leader + 1) % rigSize, (r.leader + 2) % rigSize}
	for _, tc := range []struct {
		target string
		want   []int // members that get requests
	}{
		{"all", all},
		{"leader", []int{r.leader}},
		{"follower", others},
		{r.agents[follower].host, []int{follower}},
		{r.endpoints[r.leader], []int{r.leader}},
	} {
		const requests, connections = 180, 6
		// Clients take requests as they can, so shares are only roughly even.
		least := requests / len(tc.want) / 10
		var got []int // puts, by member
		out := r.mustBeDone(r.answered(func() (*Outcome, error) {
			before := r.puts()
			out, err := r.run(r.parse(r.file(fmt.Sprintf("requests: %d, clients: %d, connections: %[2]d, key_size: 32, value_size: 64, target: '%s'",
				requests, connections, tc.target))), nil)
			got = r.puts()
			for i := range got {
				got[i] -= before[i]
			}
			return out, err
		}, func(*Outcome) string {
			for _, member := range tc.want {
				if got[member] < least {
					return fmt.Sprintf("member %d was too slow for its share", member+1)
				}
			}
			return ""
		}))
		sum := 0
		for i, n := range got {
			sum += n
			if want := slices.Contains(tc.want, i); !want && n != 0 || want && n < least {
				t.Errorf("target %s: member %d of leader %d got %d of %d puts", tc.target, i+1, r.leader+1, n, requests)
			}
		}
		if sum != requests {
			t.Errorf("target %s: the members count %d puts of %d", tc.target, sum, requests)
		}
		r.mustBeElsewhere(out.Folders[0], tc.target)
	}
}

// mustBeElsewhere fails the test unless the records describe a cluster on machines that were not
// measured.
func (r *running) mustBeElsewhere(folder, target string) {
	t := r.rig.t
	t.Helper()
	rec := r.read(folder, 0)
	if rec.run.Load.Target != target || rec.run.Leader != r.leader {
		t.Errorf("the manifest says target %s and leader %d, want %s and %d", rec.run.Load.Target, rec.run.Leader, target, r.leader)
	}
	for i, m := range rec.run.Members {
		if m.Endpoint != r.endpoints[i] || m.Version == "" || m.Agent != "" || m.Host != nil || m.Disk != nil || len(m.Files) > 0 {
			t.Errorf("member %d: %+v", i+1, m)
		}
	}
	wantMarks(t, rec, mark.KeysLeft, mark.SharedHost, mark.Unmeasured)
	r.mustBeAsked(rec)
	if table, err := os.ReadFile(filepath.Join(rec.dir, results.FileDisk)); err != nil || strings.Count(string(table), ",,\n") != rigSize {
		t.Errorf("members without agents have disks %q (%v), want none", table, err)
	}
	err := filepath.WalkDir(rec.dir, func(path string, d fs.DirEntry, err error) error {
		if name := filepath.Base(path); strings.Contains(name, results.FileServer) {
			t.Errorf("members without agents have the file %s, want none", name)
		}
		return err
	})
	if err != nil {
		t.Errorf("walk the folder: %v", err)
	}
}

// mustBeAsked fails the test unless control has read the metrics of each member before and after
// the load, with all requests in between.
func (r *running) mustBeAsked(rec record) {
	t := r.rig.t
	t.Helper()
	for i, m := range rec.run.Members {
		samples, err := results.ReadDatabaseSamples(filepath.Join(rec.dir, results.DatabaseFile(i+1)))
		if err != nil || len(samples) < 2 {
			t.Errorf("member %d must have answered before and after the load, got %d samples, %v", i+1, len(samples), err)
			continue
		}
		first, last, grown := samples[0], samples[len(samples)-1], applied(samples)
		if first.Error+last.Error != "" || grown < float64(rec.run.Totals.OK) {
			t.Errorf("member %d must have applied the %d requests in between, got %g, errors %q and %q", i+1, rec.run.Totals.OK, grown, first.Error, last.Error)
		}
		if first.UnixNano > rec.run.LoadStart.UnixNano() || last.UnixNano < rec.run.LoadEnd.UnixNano() {
			t.Errorf("member %d must be asked around the load", i+1)
		}
		counts, err := membermetrics.Record().Of(m.Records)
		if err != nil || counts.Answered != int64(len(samples)) || counts.Unanswered != 0 || counts.Every != 10*time.Second || counts.Bytes == 0 || counts.Asked == 0 {
			t.Errorf("the record of member %d must count %d answers each 10 s, got %+v, %v", i+1, len(samples), counts, err)
		}
	}
}

// applied returns the number of proposals that a member applied between the first and the last of
// its answers.
func applied(samples []results.DatabaseSample) float64 {
	return samples[len(samples)-1].Values.Get(metric.ProposalsApplied) - samples[0].Values.Get(metric.ProposalsApplied)
}

// answered is [dialled] for loads during which members report metrics. It runs a load again if a
// member was too slow for control or behind the others, or if spoilt returns a reason.
func (r *running) answered(run func() (*Outcome, error), spoilt ...func(*Outcome) (why string)) (*Outcome, error) {
	r.rig.t.Helper()
	pause := time.Duration(0)
	return again(r.rig.t, func() (*Outcome, error) {
		time.Sleep(pause) // a disk may be busy for seconds
		pause += time.Second
		return dialled(r.rig.t, run)
	}, func(out *Outcome, err error) string {
		if err != nil {
			return ""
		}
		for _, why := range append([]func(*Outcome) string{r.behind}, spoilt...) {
			if reason := why(out); reason != "" {
				return reason
			}
		}
		return ""
	})
}

// behind returns a reason if a member's metrics do not cover the load, as a busy machine delayed the
// member: an answer took longer than control waits, or a member that is not needed for a quorum had
// not applied all requests yet.
func (r *running) behind(out *Outcome) (why string) {
	r.rig.t.Helper()
	rec := r.read(out.Folders[0], 0)
	for i, m := range rec.run.Members {
		counts, err := membermetrics.Record().Of(m.Records)
		if err == nil && counts.Unanswered > 0 && counts.Asked >= 2*time.Second {
			return fmt.Sprintf("member %d did not answer in time: %+v", i+1, counts)
		}
		samples, err := results.ReadDatabaseSamples(filepath.Join(rec.dir, results.DatabaseFile(i+1)))
		if err != nil || len(samples) < 2 {
			continue
		}
		if grown := applied(samples); grown < float64(rec.run.Totals.OK) {
			return fmt.Sprintf("member %d had applied %g of %d requests when it was asked", i+1, grown, rec.run.Totals.OK)
		}
	}
	return ""
}

// Refused metrics are a note in a valid run, and `metrics: false` asks no member.
func TestMetricsRefused(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := startEtcd(t, steady)
	const load = "requests: 30, clients: 2, key_size: 32, value_size: 64"
	file := r.sharedFile(load, "scrape: {url: 'http://{host}:{port}/nothing'}")
	for _, tc := range []struct {
		text  string
		marks []string
	}{
		{file, []string{mark.MetricsRefused, mark.MetricsRefused, mark.MetricsRefused, mark.KeysLeft, mark.SharedHost, mark.Unmeasured}},
		{"metrics: false\n" + file, []string{mark.KeysLeft, mark.SharedHost, mark.Unmeasured}},
	} {
		out := r.mustBeDone(r.answered(func() (*Outcome, error) { return r.run(r.parse(tc.text), nil) }))
		rec := r.read(out.Folders[0], 0)
		if rec.run.Totals.OK != 30 {
			t.Errorf("totals %+v", rec.run.Totals)
		}
		wantMarks(t, rec, tc.marks...)
		for _, m := range rec.run.Validity {
			if m.Code == mark.MetricsRefused && !strings.Contains(m.Words["why"], "must be 200 OK, got 404") {
				t.Errorf("the mark must say what was answered, got %+v", m)
			}
		}
		for i := range rec.run.Members {
			if _, err := os.Stat(filepath.Join(rec.dir, results.DatabaseFile(i+1))); !os.IsNotExist(err) {
				t.Errorf("member %d has a file of metrics (%v), want none", i+1, err)
			}
		}
	}
}

// wantMarks fails the test unless the marks are these, apart from one that depends on how busy
// the machine is.
func wantMarks(t *testing.T, rec record, want ...string) {
	t.Helper()
	got := slices.DeleteFunc(rec.marks(), func(code string) bool { return slices.Contains(ofMachine[:], strings.TrimPrefix(code, "!")) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("marks %s", diff)
	}
}

// A target that is no member ends the run before any load.
func TestNoSuchTarget(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := startEtcd(t, steady)
	before := r.puts()
	e := r.parse(r.file("requests: 10, clients: 1, target: leader"))
	e.Databases[0].Load.Target = "10.1.1.1" // an experiment file with it is refused
	if _, err := r.run(e, nil); err == nil || !strings.Contains(err.Error(), `no member is "10.1.1.1"`) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, r.puts()); diff != "" {
		t.Errorf("puts %s", diff)
	}
}
