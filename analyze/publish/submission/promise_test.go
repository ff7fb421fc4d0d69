package submission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// The promises in docs/submit.md for each kind of text: an example that is replaced or removed, and
// one that stays because it identifies no person.
func TestPromises(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ of, gone, alias, stays string }{
		{"host name", "db-7.prod.acme.zone", "host-1", "etcd_disk_wal_fsync"},
		{"domain", "see prod.acme.zone", "domain-1", "see 3.6.16"},
		{"IP address", "10.20.30.40", "address-1", "127.0.0.1"},
		{"IP address", "[2001:db8::1]:2379", "address-1", "[::1]:2379"},
		{"user name", "bench@db-7", "user-1@host-1", "root@localhost"},
		{"path", "/srv/acme", "path-1", "/usr/bin/java"},
		{"path", "/data", "path-1", "/proc/1/stat"},
		{"path", "/export", "path-1", "/dev/vda"},
		{"network card", "enx0a1b2c3d4e5f", "interface-1", "enp3s0"},
		{"credential", "password: Tr0ub4dor", removed, "password:"},
		{"credential", "--token Tr0ub4dor", removed, "--name x"},
		{"URL", "https://carol:Tr0ub4dor@127.0.0.1", removed, "https://127.0.0.1"},
		{"key", "-----BEGIN PRIVATE KEY----- MIIEvQ", removed, "BEGIN"},
		{"JWT", "eyJhbGciOiJIUzI1NiJ9.e30.abc", removed, "eyes"},
		{"UUID", "0f8fad5b-d9cb-469f-a165-70867728950e", removed, "0f8fad5b"},
		{"random word", "Xk9vQ2mTbR7wLp4nZc8sJd6hGf3yAe5u", removed, "zookeeper-snapshot-compression-method"},
		{"mail address", "carol@acme-corp.example", removed, "consul@v1.16.0"},
	} {
		n := newNames()
		n.host("db-7.prod.acme.zone")
		if got := n.text(tt.gone); !strings.Contains(got, tt.alias) || strings.Contains(got, "Tr0ub4dor") {
			t.Errorf("%s: %q is %q, want %s", tt.of, tt.gone, got, tt.alias)
		}
		if got := newNames().text(tt.stays); got != tt.stays {
			t.Errorf("%s: %q is %q, and must stay", tt.of, tt.stays, got)
		}
	}
}

// Interface names have a card's address in tables, too, and object keys have machine names.
func TestNamesInTablesAndKeys(t *testing.T) {
	t.Parallel()
	p := &packer{checked: &checked{manifest: &results.Manifest{}}, names: newNames(), known: newVocabulary(), unknown: map[string]bool{}}
	table, err := p.table([]byte("second,INTERFACE\n1,enx0a1b2c3d4e5f\n2,eth0\n3,enx0a1b2c3d4e5f\n"))
	if err != nil || string(table) != "second,INTERFACE\n1,interface-1\n2,eth0\n3,interface-1\n" {
		t.Errorf("a table is %q, %v", table, err)
	}
	const object = `{"kind": "start", "db-7.acme.zone": 5, "databases": [{"options": {"db-7.acme.zone": true, "db-8.acme.zone:2379": "x"}}],
		"sha256": {"etcd": "00112233", "db-7.acme.zone": "44556677"}}`
	got, err := p.scrubJSON([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if want := `{"databases":[{"options":{"host-1":true,"host-2:2379":"x"}}],"kind":"start","sha256":{"etcd":"00112233","host-1":"44556677"}}`; err != nil || string(text) != want {
		t.Errorf("got %s (%v), want %s", text, err, want)
	}
	if len(p.unknown) != 1 {
		t.Errorf("%d unknown fields, want 1: %v", len(p.unknown), p.unknown)
	}
	if o := (map[string]any{"host-1": 1}); unused(o, "host-1") != "host-1 2" || unused(o, "host-2") != "host-2" {
		t.Errorf("two names of one object must stay two, got %q", unused(o, "host-1"))
	}
}

// Logs that the manifest lists keep their names, and so do the logs of a member if its list was
// lost. Files outside the record folders do not belong to the record.
func TestListedLogs(t *testing.T) {
	t.Parallel()
	record := &results.DatabaseRun{Members: []results.Member{{Files: []string{"logs/1-etcd.log"}}, {}}}
	for file, want := range map[string]bool{"logs/1-etcd.log": true, "logs/1-other.log": false, "logs/2-etcd.log": true, "logs/3-etcd.log": false, "logs/0-etcd.log": false} {
		if listed(record, file) != want {
			t.Errorf("%s is listed: %v, want %v", file, !want, want)
		}
	}
	for file, treated := range map[string]bool{
		results.FileIntervals: true, "capacity/" + results.FileIntervals: true, "capacity/hold-1/" + results.FileEvents: true, "generators/2/" + results.FileClient: true,
		"acme/" + results.FileIntervals: false, "capacity/acme/" + results.FileIntervals: false, "1-acme.csv": false, "acme-interpolated.csv": false,
	} {
		if (ruleOf(file).form != "") != treated {
			t.Errorf("%s is packed: %v, want %v", file, !treated, treated)
		}
	}
}

// Packing only reads the run and needs no network: the archive is the only written file.
func TestWritesOnlyTheArchive(t *testing.T) {
	t.Parallel()
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	d := f.Database("etcd-v3.6", 2*time.Millisecond)
	d.LogRules = []declared.LogRule{{Event: "slow", Pattern: `took too long`}}
	run, to := f.Write(), t.TempDir()
	before := files(t, run)
	packed, _ := pack(t, Options{Run: run, To: filepath.Join(to, "a.tar.gz")})
	left, err := os.ReadDir(to)
	if err != nil || len(left) != 1 || len(files(t, run)) != len(before) {
		t.Errorf("%v was written, %v; the run has %d files, before %d", left, err, len(files(t, run)), len(before))
	}
	for name, text := range files(t, run) {
		if before[name] != text {
			t.Errorf("%s of the run was changed", name)
		}
	}
	if regexp.MustCompile(`host-\d+ =`).MatchString(packed.Account) {
		t.Errorf("the account names what a pseudonym stands for:\n%s", packed.Account)
	}
}
