package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/tools/experiment"
)

// keep writes run records: a manifest, and the files for its one database.
func keep(t *testing.T, manifest string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "etcd"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "etcd", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "manifest.json")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// late is a run whose 100 sessions ended so many ms after their TTL.
func late(least, most int, more string) string {
	return fmt.Sprintf(`{"databases":[{"tag":"etcd","sessions_held":{"granted":100,"abandoned":100,"expired":100,"death":"2026-01-01T00:00:04Z",
"late":{"n":100,"p50_ns":%[2]d000000,"p99_ns":%[2]d000000,"max_ns":%[2]d000000},"late_least":{"n":100,"max_ns":%[1]d000000},"survivors":[{"after_ns":%[1]d000000,"left":99}]%[3]s}}]}`, least, most, more)
}

// missed returns the bars that run records miss.
func missed(t *testing.T, of experiment.Trial, manifest string, files map[string]string) (list []string) {
	t.Helper()
	findings, err := of.Judge(keep(t, manifest, files))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if !f.Met {
			list = append(list, f.What)
		}
	}
	return list
}

// Sessions that end too early, too late or while they were held miss their bars, and others meet them.
func TestSessions(t *testing.T) {
	fault := map[string]string{
		"events.jsonl": `{"time":"2026-01-01T00:00:04Z","kind":"sessions abandoned"}` + "\n" + `{"time":"2026-01-01T00:00:08Z","kind":"fault"}` + "\n" + `{"time":"20`,
		"faults.csv":   "kind,blackout_ns\nkill,1500000000\n",
	}
	for _, c := range []struct {
		name     string
		of       experiment.Trial
		manifest string
		want     int
	}{
		{"by ticks", ticks(2000), late(20, 2040, ""), 0},
		{"later than a tick", ticks(2000), late(20, 2060, ""), 1},
		{"short ticks", ticks(500), late(20, 560, ""), 1},
		{"after a leader", leaderKilled(), late(4100, 7000, ""), 0},
		{"after a leader, as if there had been one all the time", leaderKilled(), late(100, 900, ""), 1},
		{"after a leader, and much later", leaderKilled(), late(4100, 9000, ""), 1},
		{"ended while they were held", ticks(2000), late(20, 2040, `,"early":1,"missed":1`), 2},
		{"while the client was stopped", stoppedClient(), late(-200, 1900, `,"delayed":100`), 0},
		{"charged to the store", stoppedClient(), late(1800, 1900, `,"delayed":99`), 2},
		{"held", heldOn(10 * time.Second), `{"databases":[{"sessions_held":{"granted":10000,"keeps":{"n":19000}}}]}`, 0},
		{"not held", heldOn(10 * time.Second), `{"databases":[{"sessions_held":{"granted":9999,"keeps":{"n":17000},"keeps_lost":1,"unrenewed":1,"left":1}}]}`, 5},
	} {
		if got := missed(t, c.of, c.manifest, fault); len(got) != c.want {
			t.Errorf("%s: %q are missed, want %d bars", c.name, got, c.want)
		}
	}
	if got := missed(t, leaderKilled(), late(4100, 7000, ""), nil); len(got) != 1 {
		t.Errorf("without a fault %q are missed, want that it is not known", got)
	}
	if _, err := read(keep(t, `{"databases":[{"tag":"etcd"}]}`, nil)); err == nil {
		t.Error("records without sessions and locks were read")
	}
}

// Locks must pass by the rule, by both etcd recipes as fast as each can, and stopped holders be
// reported.
func TestLocks(t *testing.T) {
	hands := func(library, direct int) string {
		one := `{"tag":"%s","locks_held":{"stages":[{"hand_off":{"n":200,"p50_ns":1000000,"mean_ns":%d000000}}]}}`
		return fmt.Sprintf(`{"databases":[`+one+","+one+"]}", "library", library, "direct", direct)
	}
	passes := func(late int) string {
		one := `{"tag":"%s","locks_held":{"earliest_ns":2000000000,"latest_ns":40000000000,"stages":[{"fail_over":{"dead":10,"passed":{"n":10,"p50_ns":%d000000,"max_ns":40090000000}}}]}}`
		return fmt.Sprintf(`{"databases":[`+one+","+one+"]}", "consul-0", 20_000, "consul-15", 20_000+late)
	}
	stopped := `{"databases":[{"locks_held":{"stages":[{"safety":{"believed":%d,"overlaps":%d}}]}}]}`
	for _, c := range []struct {
		name     string
		of       experiment.Trial
		manifest string
		want     int
	}{
		{"recipes", recipes(), hands(83, 1), 0},
		{"a fast library and a slow protocol", recipes(), hands(10, 4), 2},
		{"a delay", failOver(), passes(15_300), 0},
		{"no delay", failOver(), passes(100), 1},
		{"believed", stoppedHolders("etcd"), fmt.Sprintf(stopped, 10, 0), 0},
		{"not reported", stoppedHolders("zookeeper"), fmt.Sprintf(stopped, 9, 1), 2},
	} {
		if got := missed(t, c.of, c.manifest, nil); len(got) != c.want {
			t.Errorf("%s: %q are missed, want %d bars", c.name, got, c.want)
		}
	}
}

// A trial is a section with a table, and a missed bar is an error. A run may end before it is stopped.
func TestHolders(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "dbtester")
	script := `#!/bin/sh
if [ "$1" = version ]; then printf 'dbtester 1.2\n  embedded etcd 3.7.3\n'; exit; fi
mkdir -p "$6/a/b/etcd" && echo '{"time":"2026-01-01T00:00:04Z","kind":"sessions abandoned"}' >"$6/a/b/etcd/events.jsonl"
sleep 0.3
cat >"$6/a/b/manifest.json" <<'END'
` + late(-200, 1900, `,"delayed":99`) + `
END
exit 3
`
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	var out, progress strings.Builder
	err := holders(t.Context(), []string{"-dbtester", program, "-dir", dir, "-only", "stopped-client"}, &out, &progress)
	if err == nil || !strings.Contains(err.Error(), "stopped-client: ends that are charged to the stop: 99, the bar is 100") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"with dbtester 1.2, etcd 3.7.3, ZooKeeper", "\n| sessions that died | 100 | 100 | met |\n", "| 99 | 100 | **missed** |\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// Every trial has its own name, a title and databases.
func TestTrials(t *testing.T) {
	seen := map[string]bool{}
	for _, one := range trials(time.Minute) {
		if seen[one.Name] || one.Title == "" || !strings.Contains(one.Text, "databases:") {
			t.Errorf("trial %+v", one)
		}
		seen[one.Name] = true
	}
}
