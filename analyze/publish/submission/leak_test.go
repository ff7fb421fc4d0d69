package submission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/analyze/runtest"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/declared"
)

// The planted names: they must not be in an archive, in upper or lower case.
var planted = []string{
	"acme", "db-7", "db-8", "bench-client", "rack9-spare", "10.20.30.", "203.0.113.9", "2001:db8", "alice", "bob42", "96e9db65", "4026531833",
	"hunter2-Zx81", "hvs.CAESIJ", "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOi", "MIIEvQIBADANBg", "0f8fad5b-d9cb", "Tr0ub4dor", "s3cr3t-flag",
	"bluebird", "/srv/customers", "pangolin", "heron", "/bulk", "fe80::7", "0a1b2c3d4e5f", "gr8-pass", "otter", "mallard", "kestrel", "Xk9vQ2mTbR7wLp4nZc8sJd6hGf3yAe5u", "aa:bb:cc:dd:ee:ff", "9f86d081884c7d659a2feaa0c55ad015",
}

// secretRun is a run whose records have the planted names wherever records have texts.
func secretRun(t *testing.T) string {
	t.Helper()
	f := runtest.NewFixture(t, filepath.Join(t.TempDir(), "run"))
	f.M.RunID = "00112233445566778899aabbccddeeff"
	f.M.Title, f.M.Description = "Writes for bluebird", "On db-7 of rack9-spare.acme.net, asked by alice@acme-corp.example; see /home/alice/notes/plan.txt"
	f.M.Client = results.Host{Name: "bench-client.prod.acme-corp.example", OS: "linux", Kernel: "6.1", CPUs: 4, BootID: "96e9db65-4713-4b0f-8585-d65f9ac054f0", NetNS: "net:[4026531833]"}
	f.M.Config = json.RawMessage(`{"path": "/home/alice/bluebird/db-7.yaml", "auth": {"user": "bob42", "password": "hunter2-Zx81"}, "tls": {"key": "/srv/customers/key.pem"},
		"databases": [{"hosts": [{"addr": "10.20.30.41"}]}], "upload": {"url": "s3://acme-bucket/x?token=Tr0ub4dor-3"}}`)
	d := f.Database("etcd-v3.6", 2*time.Millisecond)
	d.Description = "release of db-8, session 0f8fad5b-d9cb-469f-a165-70867728950e"
	d.OptionTexts = map[string]string{"flags": "--peer=https://db-8:2380", "acl_token": "Tr0ub4dor"}
	d.Settings = &results.Settings{Changed: []declared.Setting{{Name: "--encrypt", Value: "Tr0ub4dor"}, {Name: "--dir", Value: "/srv/customers/data"}}}
	d.Options = json.RawMessage(`{"Flags": ["--log-file=/srv/customers/etcd.log", "--auth-token=s3cr3t-flag", "--auth-token", "gr8-pass-1"], "AuthToken": "hunter2-Zx81", "Quota": 8000000000,
		"Env": {"REGION_OF_db-7.prod.acme-corp.example": "1"}}`)
	d.LogRules = []declared.LogRule{{Event: "slow", Pattern: `took too long`, Value: declared.JSONField("took"), Unit: declared.UnitText}}
	for i, host := range []string{"db-7.prod.acme-corp.example", "db-8.prod.acme-corp.example"} {
		m := &d.Members[i]
		m.Addr, m.Agent, m.Endpoint = []string{"10.20.30.41", "db-8.prod.acme-corp.example"}[i], "10.20.30.41:3500", "[2001:db8::17]:2379"
		m.Listen = []string{"203.0.113.9:8301/udp"}
		m.Argv = [][]string{{"/home/alice/bin/etcd", "--initial-cluster-token=Tr0ub4dor", "--name=db-7"}}
		m.Host = &results.Host{Name: host, CPUs: 4, BootID: "96e9db65-4713-4b0f-8585-d65f9ac054f0", NetNS: "net:[4026531833]"}
		m.Release = &results.Release{Name: "etcd", Version: "3.6.16", Kind: "local", Source: "/srv/customers/etcd", Notes: []string{"from https://mirror.acme.net/etcd"}}
		m.Error = "lookup rack9-spare.acme.net on 10.20.30.1:53: no such host; Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30.abc123"
		m.Files = []string{"1-server-system-metrics.csv", "1-agent.log", "logs/1-etcd.log"}
		m.Disk.Device, m.Disk.MountOptions = "10.20.30.50:/export/acme", "rw,lowerdir=/srv/customers/lower:/srv/customers/upper,username=mallard,password=gr8-pass-2,domain=KESTREL,addr=files-of-otter"
	}
	d.OtherLoad = []results.OtherLoad{{Host: "bench-client.prod.acme-corp.example", CPUs: 4}}
	d.Validity = []results.Mark{{Code: "server lost", Invalid: true, Text: "member 2: dial tcp db-8:2379 and 10.20.30.42:2379: connection refused",
		Values: map[string]float64{"member": 2}, Words: map[string]string{"why": "dial tcp db-8:2379 and 10.20.30.42:2379: connection refused"}}}
	run := f.Write()
	dir := filepath.Join(run, "etcd-v3.6")
	put(t, filepath.Join(dir, "logs", "1-etcd.log"), `{"ts":"2026-11-22T16:38:10Z","msg":"started","name":"db-7","token":"hunter2-Zx81"}
{"ts":"2026-11-22T16:38:11Z","msg":"apply request took too long","took":"1.062s","key":"/customers/acme/42","peer":"10.20.30.42"}
`)
	put(t, filepath.Join(dir, "1-agent.log"), `time=x msg="session opened" owner="alice@bench-client pid 8603"`+"\n")
	put(t, filepath.Join(dir, "client-control.log"), "open agents at 10.20.30.41\n")
	put(t, filepath.Join(dir, "core.dump"), "hunter2-Zx81")
	put(t, filepath.Join(dir, "profiles", "1-cpu.pprof"), "/home/alice/go/src")
	put(t, filepath.Join(run, "notes-of-alice.txt"), "hunter2-Zx81")
	put(t, filepath.Join(run, "pangolin-plan.txt"), "of no record")
	put(t, filepath.Join(dir, "pangolin.csv"), "of no record")
	put(t, filepath.Join(dir, "logs", "2-pangolin.log"), "took too long\n")
	put(t, filepath.Join(dir, "profiles", "pangolin.pprof"), "of no record")
	put(t, filepath.Join(dir, "pangolin", results.FileEvents), "{}\n")
	put(t, filepath.Join(dir, "pangolin-interpolated.csv"), "of no record")
	put(t, filepath.Join(dir, results.FileErrors), `second,step,phase,operation,class,count,first_text,first_time,message
1800000001,0,measure,write,throttled,5,"too many requests from alice to db-8.prod.acme-corp.example, trace 9f86d081884c7d659a2feaa0c55ad015, key Xk9vQ2mTbR7wLp4nZc8sJd6hGf3yAe5u",2027-01-15T08:00:01Z,dial ADDR of rack9-spare:2380 (aa:bb:cc:dd:ee:ff) at 203.0.113.9
`)
	put(t, filepath.Join(dir, results.FileEvents), `{"time":"2027-01-15T07:59:55Z","kind":"start","member":-1}
{"time":"2027-01-15T08:00:02Z","kind":"connection lost","member":1,"text":"read tcp 10.20.30.41:5000->[2001:db8::17]:2379: password=hunter2-Zx81 AKIAIOSFODNN7EXAMPLE peer:fe80::7%enx0a1b2c3d4e5f, node_10.20.30.9 of db-7.heron.zone; see /bulk. dbctl --token gr8-pass-3 -p gr8-pass-4 -----BEGIN PRIVATE KEY----- MIIEvQIBADANBg","secret_note":"bluebird","pangolin_count":5}
`)
	for _, name := range []string{results.ServerFile(1), results.ServerFile(2), results.FileClient} {
		edit(t, filepath.Join(dir, name), "boot-1", "96e9db65-4713-4b0f-8585-d65f9ac054f0")
		edit(t, filepath.Join(dir, name), "net-1", "net:[4026531833]")
	}
	manifest := filepath.Join(run, results.FileManifest)
	edit(t, manifest, `"title": "Writes for bluebird",`, `"title": "Writes for bluebird", "sponsor": "alice of bluebird", "pangolin": {"heron": 1},`)
	return run
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// No planted name is in the archive, the numbers are the same, equal names have equal
// pseudonyms, and the account lists all changes.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	run := secretRun(t)
	packed, again := pack(t, Options{Run: run, Hide: []string{"bluebird"}, Hosts: []string{"bench-client"}, Users: []string{"alice"}})
	all := files(t, again)
	if len(all) < 10 {
		t.Errorf("only %d files were packed", len(all))
	}
	for name, text := range all {
		for _, word := range planted {
			if at := strings.Index(strings.ToLower(name+"\n"+text), strings.ToLower(word)); at >= 0 {
				t.Errorf("%s has %q: ...%s", name, word, (name + "\n" + text)[max(0, at-60):min(len(name)+1+len(text), at+60)])
			}
		}
	}
	if t.Failed() {
		return
	}
	var m results.Manifest
	if err := json.Unmarshal([]byte(all[results.FileManifest]), &m); err != nil {
		t.Fatal(err)
	}
	one, two := m.Databases[0].Members[0], m.Databases[0].Members[1]
	if one.Host.BootID != m.Client.BootID || one.Host.BootID == "" || one.Host.Name == two.Host.Name || two.Addr != two.Host.Name || m.Databases[0].OtherLoad[0].Host != m.Client.Name {
		t.Errorf("machines are not told apart as before: client %+v, members %+v and %+v", m.Client, one, two)
	}
	if len(one.Argv) != 1 || len(one.Argv[0]) != 1 || one.Argv[0][0] != "etcd" || len(one.Files) != 2 || one.Release.Source == "" || !strings.HasSuffix(one.Listen[0], ":8301/udp") {
		t.Errorf("member 1 is packed as %+v", one)
	}
	if !strings.Contains(string(m.Databases[0].Options), "8000000000") || m.Databases[0].Settings.Changed[0].Value != removed {
		t.Errorf("options %s, settings %+v", m.Databases[0].Options, m.Databases[0].Settings)
	}
	if log := all["etcd-v3.6/logs/1-etcd.log"]; log != `took too long "took":"1.062s`+"\n" {
		t.Errorf("the log is reduced to %q", log)
	}
	for _, want := range []string{"4 x field that this version does not know", "1 x hidden word: word-1", "boot id: machine-1", "7 x file or folder that analyze does not read",
		"etcd-v3.6/profiles/1-cpu.pprof: a profile", "etcd-v3.6/logs/1-etcd.log: 1 of 2 lines", "etcd-v3.6/logs/2-unlisted-1.log: 1 of 1 lines", "INVALID server lost", "NOT VALID"} {
		if !strings.Contains(packed.Account, want) {
			t.Errorf("the account has no %q:\n%s", want, packed.Account)
		}
	}
	// The pairs contain the real names: only the person who packs may read them.
	for _, want := range []string{"field sponsor", "field secret_note", "field pangolin", "field pangolin_count", "file pangolin-plan.txt", "file etcd-v3.6/pangolin.csv",
		"file etcd-v3.6/logs/2-pangolin.log, packed as etcd-v3.6/logs/2-unlisted-1.log", "file etcd-v3.6/profiles/pangolin.pprof", "file etcd-v3.6/pangolin/events.jsonl", "file etcd-v3.6/core.dump"} {
		if !slices.Contains(packed.Unnamed, want) {
			t.Errorf("%q is not among what was left out: %q", want, packed.Unnamed)
		}
	}
	if all[FileAccount] != packed.Account {
		t.Error("the archive has another account")
	}
	if diff := cmp.Diff(numbers(t, run), numbers(t, again)); diff != "" {
		t.Errorf("numbers (-of the run +of the archive):\n%s", diff)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "12.5": "12.5", "0.001=329 +Inf=3": "0.001=329 +Inf=3", "step 1, 100 clients: 6.129 % of 7.97s": "step 1, 100 clients: 6.129 % of 7.97s",
		"dial tcp 127.0.0.1:2379, localhost:2379, [::1]:80 and 0.0.0.0": "dial tcp 127.0.0.1:2379, localhost:2379, [::1]:80 and 0.0.0.0",
		"dial tcp 10.0.0.2:2379, again 10.0.0.2 and 10.0.0.22":          "dial tcp address-1:2379, again address-1 and address-2",
		"to fe80::1%eth0. And 2001:db8::2":                              "to address-1. And address-2",
		"16:38:11 at 2026-11-22T16:38:11Z of 1.16.0, v3.7.3":            "16:38:11 at 2026-11-22T16:38:11Z of 1.16.0, v3.7.3",
		"lookup store-a: http://store-b:80/x store-c:2379":              "lookup host-2: http://host-1:80/x host-3:2379",
		"depot.corp.example.com and depot":                              "host-1 and host-1",
		"embed/config.go:956 github.com/hashicorp/consul@v1.16.0":       "embed/config.go:956 github.com/hashicorp/consul@v1.16.0",
		"at /home/carol/x/y, /proc/1/stat; of carol":                    "at path-1, /proc/1/stat; of user-1",
		"token=abc and secret: \"xyz\" password=":                       "token=[removed] and secret: \"[removed]\" password=",
		"http://me:pw12@10.0.0.1/":                                      "http://[removed]@address-1/",
		"a mail to x.y@acme.org":                                        "a mail to [removed]",
		"postgres://me:pw12@store-x/a and https://carol@store-y/b":      "postgres://[removed]@host-1/a and https://user-1@host-2/b",
		"root@db9:22 refused, carol@db9: denied":                        "root@host-1:22 refused, user-1@host-1: denied",
		"dns:///store-3.acme.internal:2379, passthrough:///store-z:80":  "dns:///host-1:2379, passthrough:///host-2:80",
		"dns://10.0.0.1/store-z:80 etcd-endpoints://0xc000012340/db9:1": "dns://address-1/host-1:80 etcd-endpoints://0xc000012340/host-2:1",
		"mix read:50 update:50 delete:10":                               "mix read:50 update:50 delete:10",
		"copy of db7_backup from db7:2379":                              "copy of host-1_backup from host-1:2379",
		"copied db.acme.zone, DB-8.ACME.TOOLS. And box.acme.sh?":        "copied host-1, host-2. And host-3?",
		"wal.go, config.yaml, java.lang.OutOfMemoryError, run.sh v1.rc": "wal.go, config.yaml, java.lang.OutOfMemoryError, run.sh v1.rc",
		"org.apache.zookeeper.server, raft.Node(), snap.count=5, e.g.":  "org.apache.zookeeper.server, raft.Node(), snap.count=5, e.g.",
		"3.6.16 and 5.10.0-8.el7.x86_64, etcd_disk_wal_fsync p99.9":     "3.6.16 and 5.10.0-8.el7.x86_64, etcd_disk_wal_fsync p99.9",
		"1.2.3.4.5 of v1.2.3.4, a.b":                                    "1.2.3.4.5 of v1.2.3.4, a.b",
		"peer=fe80::1%eth0 server:fe80::2, [2001:db8::9]:2379":          "peer=address-1 server:address-2, [address-3]:2379",
		"to[::1]:2379 std::abc 12:30:45 node_10.0.0.7":                  "to[::1]:2379 std::abc 12:30:45 node_address-1",
		"on /data, in /data. 5 req/s (/s) N/A at /usr":                  "on path-1, in path-1. 5 req/s (/s) N/A at /usr",
		"rw,username=carol,password=x,domain=acme,addr=files":           "rw,username=user-1,password=[removed],domain=domain-1,addr=host-1",
		"{\"user\": \"carol\"} --user dave user=root":                   "{\"user\": \"user-1\"} --user user-2 user=root",
		"files:/export //files/share file:///home/carol/x":              "host-1:path-2 path-1 file://path-3",
		"--token abc --password=abc -p abc -p 2379":                     "--token [removed] --password=[removed] -p [removed] -p 2379",
		"[\"--auth-token\",\"abc\"] -u me:pw":                           "[\"--auth-token\",\"[removed]\"] -u [removed]",
		"enx001122334455 wlx0A1122334455.7 enp3s0 docker0":              "interface-1 interface-2.7 enp3s0 docker0",
		"00-11-22-33-44-5e at ~carol/x":                                 "[removed] at path-1",
		"host-1 and host-12 are not db7:2379":                           "host-1 and host-12 are not host-2:2379",
	} {
		n := newNames()
		n.text(text) // names are found the first time
		if got := n.text(text); got != want {
			t.Errorf("%q\n got %q\nwant %q", text, got, want)
		}
	}
}

// Ordinary words and short names are replaced where a record names a machine, and nowhere
// else.
func TestOrdinaryNames(t *testing.T) {
	t.Parallel()
	n := newNames()
	for i, name := range []string{"vm", "etcd"} {
		if got, want := n.host(name), []string{"host-1", "host-2"}[i]; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := n.text("etcd in a vm"); got != "etcd in a vm" {
		t.Errorf("got %q", got)
	}
	for _, tt := range [][2]string{{"leader", "leader"}, {"10.0.0.9:2379", "address-1:2379"}, {"", ""}, {"db.x:1/udp", "host-3:1/udp"}, {"127.0.0.1", "127.0.0.1"}, {"[2001:db8::1]:22", "address-2:22"}} {
		if got := n.address(tt[0]); got != tt[1] {
			t.Errorf("address %q is %q, want %q", tt[0], got, tt[1])
		}
	}
}
