package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/workload"
)

// Rates and clients become steps in each load, up and down again.
func TestSweepSteps(t *testing.T) {
	const hosts = "hosts: [a, b, c]\ndatabases: {etcd: {version: v3.6.16}, zookeeper: {load: {duration: 3s}}}\n"
	for _, tt := range []struct {
		name, file string
		want       string
	}{
		{"rates", hosts + "load: {duration: 2s, clients: 10}\nsweep: {rate: [100, 200, 400]}\n",
			"etcd-v3.6.16: 100/10 200/10 400/10 200/10 down 100/10 down, 10s; zookeeper: 100/10 200/10 400/10 200/10 down 100/10 down, 15s"},
		{"rates up only", hosts + "load: {duration: 2s, clients: 10}\nsweep: {rate: [100, 200.5], down: false}\n",
			"etcd-v3.6.16: 100/10 200.5/10, 4s; zookeeper: 100/10 200.5/10, 6s"},
		{"clients", hosts + "load: {duration: 2s}\nsweep: {clients: [1, 50]}\n",
			"etcd-v3.6.16: 0/1 0/50, 4s; zookeeper: 0/1 0/50, 6s"},
		{"clients of a rate, down", hosts + "load: {duration: 2s, rate: 7}\nsweep: {clients: [1, 50], down: true}\n",
			"etcd-v3.6.16: 7/1 7/50 7/1 down, 6s; zookeeper: 7/1 7/50 7/1 down, 9s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range parse(t, tt.file).Databases {
				if d.Swept == nil || d.Swept.Of != d.Tag || !d.Swept.Key.Stepped() {
					t.Errorf("%s is %+v of a sweep, want all of it", d.ID, d.Swept)
				}
				var steps []string
				for _, s := range d.Load.Steps {
					text := fmt.Sprintf("%v/%d", s.Rate, s.Clients)
					if s.Down {
						text += " down"
					}
					steps = append(steps, text)
				}
				got = append(got, fmt.Sprintf("%s: %s, %v", d.Tag, strings.Join(steps, " "), d.Load.Duration))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "; ")); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			wantSameAgain(t, tt.name, []byte(tt.file))
		})
	}
}

// Members and data become separate databases, all of them at each point.
func TestSweepPoints(t *testing.T) {
	members := "hosts: [a, b, c]\ntrials: 2\nsweep: {members: [1, 3]}\ndatabases: {etcd: , etcd__old: {tag: before, version: v3.4.1}, zookeeper: }\n"
	e := parse(t, members)
	var got []string
	for _, d := range e.Databases {
		got = append(got, fmt.Sprintf("%s %s %d", d.ID, d.Tag, len(d.Hosts)))
		if d.Swept == nil || d.Swept.Key != workload.SweepMembers || d.Swept.Value != int64(len(d.Hosts)) {
			t.Errorf("%s is the point %+v", d.ID, d.Swept)
		}
	}
	want := []string{"etcd__members-1 etcd-members-1 1", "etcd__old-members-1 before-members-1 1", "zookeeper__members-1 zookeeper-members-1 1",
		"etcd__members-3 etcd-members-3 3", "etcd__old-members-3 before-members-3 3", "zookeeper__members-3 zookeeper-members-3 3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
	if err := e.Select("etcd__old"); err != nil || len(e.Databases) != 2 || e.Databases[1].Tag != "before-members-3" {
		t.Errorf("the points of one database: %v, %v", e.Databases, err)
	}
	preload := "hosts: [a, b, c]\nload: {operation: read, key_size: 24, value_size: 1000}\nsweep: {preload: [0, 1MiB, 1 GiB]}\ndatabases: {etcd: {load: {clients: 3}}}\n"
	var sizes []string
	for _, d := range parse(t, preload).Databases {
		sizes = append(sizes, fmt.Sprintf("%s %d %d %s, %d clients", d.Tag, d.Load.Preload, d.Swept.Value, d.Swept.Text, d.Load.Clients))
	}
	if want := []string{"etcd-preload-0 0 0 0, 3 clients", "etcd-preload-1MiB 1024 1048576 1MiB, 3 clients", "etcd-preload-1GiB 1048576 1073741824 1GiB, 3 clients"}; !slices.Equal(sizes, want) {
		t.Errorf("points are %q, want %q", sizes, want)
	}
	quoted := "hosts: [a, b, c]\nload: {operation: read, key_size: 24, value_size: 1000}\nsweep: {preload: ['2048', 1MiB]}\ndatabases: {etcd: }\n"
	if d := parse(t, quoted).Databases[0]; d.Tag != "etcd-preload-2048B" || d.Load.Preload != 2 || d.Swept.Value != 2048 || d.Swept.Text != "2048B" {
		t.Errorf("a number of bytes is the point %+v with %d keys", d.Swept, d.Load.Preload)
	}
	for name, file := range map[string]string{"members": members, "preload": preload, "quoted": quoted} {
		wantSameAgain(t, name, []byte(file))
	}
	options := parse(t, "hosts: [a, b, c]\nsweep: {members: [1, 3]}\ndatabases: {etcd: }\n").Databases
	if options[0].Options == options[1].Options {
		t.Error("two points share one options struct: a change of one would change the other")
	}
}

func TestSweepProblems(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		want       []string
	}{
		{"none", body + "sweep: {}\n", []string{"3:8: sweep: give one of rate, clients, preload and members, got 0"}},
		{"two", body + "sweep: {rate: [1, 2], members: [1, 3]}\n", []string{"3:32: sweep: give one of rate, clients, preload and members, got 2"}},
		{"one value", body + "sweep: {rate: [1]}\n", []string{"3:15: sweep: rate needs two or more values, got 1"}},
		{"falling", body + "sweep: {members: [3, 1]}\n", []string{"3:22: sweep: values of members must rise, got 1 after 3"}},
		{"nothing", body + "sweep: {clients: [0, 1]}\n", []string{"3:19: sweep: clients must be at least 1, got 0"}},
		{"too many members", body + "sweep: {members: [3, 5]}\n", []string{"3:22: members: 5 members of etcd__members-5 need as many hosts, got 3"}},
		{"members twice", body + "members: 3\nsweep: {members: [1, 3]}\n", []string{"3:10: members: sweep (line 4) gives it for each point; give one of the two"}},
		{"data twice", body + "load: {preload: {keys: 3}}\nsweep: {preload: [1, 3]}\n", []string{"3:17: preload: sweep (line 4) gives it for each point; give one of the two"}},
		{"bytes and keys", body + "sweep: {preload: [1, 3KiB]}\n", []string{"3:22: sweep: preload: give all in bytes, such as 1GiB, or all in keys, got 1 and 3KiB"}},
		{"rate twice", body + "load: {rate: 5}\nsweep: {rate: [1, 3]}\n", []string{"3:14: rate: sweep (line 4) makes the steps of the load; give one of the two"}},
		{"steps twice", body + "load: {clients: [1, 2]}\nsweep: {rate: [1, 3]}\n", []string{"3:17: clients: sweep (line 4) makes the steps of the load; give one of the two"}},
		{"down of members", body + "sweep: {members: [1, 3], down: true}\n", []string{"3:32: down: each point of a sweep over members has a fresh cluster; only rate and clients go down again"}},
		{"a cluster that runs", "databases: {etcd: {endpoints: ['a:1']}}\nsweep: {members: [1, 3]}\n", []string{"1:31: endpoints: each point of sweep (line 2) needs a fresh cluster, but these belong to one that is already running"}},
		{"not stopped", body + "steps: {stop: false}\nsweep: {preload: [1, 3]}\n", []string{"3:15: steps: stop: each point of sweep (line 4) needs a fresh cluster; members must be started and stopped"}},
		{"more clients than requests", body + "load: {clients: 10, requests: 5}\nsweep: {rate: [1, 3], down: false}\n", []string{"3:17: clients: 10 are more than the 5 requests of a step, which they share"}},
		{"a search for a capacity", body + "capacity: {latency: 5ms}\nsweep: {members: [1, 3]}\n", []string{"4:8: sweep: capacity (line 3) searches for one rate; give one of the two"}},
		{"need without a rate", body + "need: {latency: 5ms}\n", []string{"3:7: need: rate is missing, such as {rate: 5000/s}"}},
		{"need of nothing", body + "need: 0/s\n", []string{"3:7: need: rate must be positive, got 0"}},
		{"need of words", body + "need: fast/s\n", []string{`3:7: need: want a rate such as 5000/s, from 0 to 1e9, got "fast/s"`}},
		{"need of another percentile", body + "need: {rate: 5, at: p98}\n", []string{`3:21: at: unknown value "p98" (did you mean "p90"?)`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Parse("x.yaml", []byte(tt.file), testCatalog())
			if err == nil {
				t.Fatal("the file was accepted")
			}
			var got []string
			for _, line := range strings.Split(err.Error(), "\n") {
				got = append(got, strings.TrimPrefix(line, "x.yaml:"))
			}
			for _, want := range tt.want {
				if !slices.Contains(got, want) {
					t.Errorf("no problem %q in\n%s", want, strings.Join(got, "\n"))
				}
			}
		})
	}
}

// A need is a rate, or a mapping with defaults; a command line gives it like a file.
func TestNeed(t *testing.T) {
	short := workload.Need{Rate: 5000, Latency: 20 * time.Millisecond, At: "p99", Errors: 0.1}
	long := workload.Need{Rate: 2.5, Latency: time.Second, At: "p99.9", Errors: 0}
	for text, want := range map[string]workload.Need{
		"5000/s": short, "5000": short, "{rate: 5000/s}": short,
		"{rate: 2.5/s, latency: 1s, at: p99.9, errors: 0%}": long,
	} {
		file := body + "need: " + text + "\n"
		if got := parse(t, file).Need; got == nil || *got != want {
			t.Errorf("need: %s is %+v, want %+v", text, got, want)
		}
		wantSameAgain(t, text, []byte(file))
		if got, err := ParseNeed(strings.Trim(text, "{}")); err != nil || *got != want {
			t.Errorf("--need %q is %+v, %v, want %+v", text, got, err, want)
		}
	}
	if share := workload.Percentile("p99.9").Share(); share != 0.999 {
		t.Errorf("p99.9 is the share %v", share)
	}
	if _, err := ParseNeed("latency: 5ms"); err == nil {
		t.Error("a need without a rate was accepted")
	}
	if parse(t, body).Need != nil {
		t.Error("a file without a need has one")
	}
}

// TestDatabasePlace: points in a sweep have the places of their database.
func TestDatabasePlace(t *testing.T) {
	t.Parallel()
	e := parse(t, "hosts: [a, b, c]\nsweep: {members: [1, 3]}\ndatabases: {etcd: {version: v3.6.16}, zookeeper: }\n")
	if len(e.Databases) != 4 {
		t.Fatalf("%d databases, want two points of two", len(e.Databases))
	}
	for i := range e.Databases {
		d, want := &e.Databases[i], ""
		if d.Name == "etcd" {
			want = "dir/some-test.yaml:3:29"
		}
		if got := e.DatabasePlace(d, "version"); got != want {
			t.Errorf("the version of %s is at %q, want %q", d.ID, got, want)
		}
	}
}
