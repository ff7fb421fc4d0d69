package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A missing or unreadable value for sessions is one problem, however many databases there are.
func TestSessionsProblems(t *testing.T) {
	const three = "hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]\ndatabases: {etcd: , zookeeper: , consul: }\n"
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"a key with another name", "sessions: {hold: 10, ttl: 8s}\n" + three, []string{
			`x.yaml:1:11: sessions need held: how many are held, such as held: 1000`, `x.yaml:1:12: unknown key "hold" (did you mean "held"?)`}},
		{"no TTL", "sessions: {held: 10}\n" + three, []string{
			`x.yaml:1:11: sessions need ttl: the time without a renewal after which one is to end, such as ttl: 10s`}},
		{"no number", "sessions: {held: many, ttl: 8s}\n" + three, []string{`x.yaml:1:18: held: want a whole number, got "many"`}},
		{"no time", "sessions: {held: 10, ttl: soon}\n" + three, []string{`x.yaml:1:27: ttl: want a duration such as 10s, got "soon"`}},
		{"too many", "sessions: {held: 300000, ttl: 8s}\n" + three, []string{`x.yaml:1:18: sessions: held must be from 1 to 200000, got 300000`}},
		{"of a database", "hosts: [10.0.0.1]\ndatabases:\n  etcd: {sessions: {ttl: 8s}}\n  consul: {sessions: {held: 5, ttl: 10s}}\n", []string{
			`x.yaml:3:20: sessions need held: how many are held, such as held: 1000`}},
		{"shared between the file and its databases", "sessions: {held: 5}\nhosts: [10.0.0.1]\ndatabases:\n  etcd: {sessions: {ttl: 8s}}\n  consul: {sessions: {ttl: 10s}}\n", nil},
	} {
		_, _, err := Parse("x.yaml", []byte(test.file), testCatalog())
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// The number of sessions granted before a load, their TTL, and impossible values.
func TestLoadSessions(t *testing.T) {
	for _, test := range []struct {
		name, file string
		sessions   int64
		ttl        time.Duration
		problem    string
	}{
		{"renewals", "load: {operation: keepalive}", 1000, 10 * time.Minute, ""},
		{"renewals of many clients", "load: {operation: keepalive, clients: 5000}", 7500, 10 * time.Minute, ""},
		{"begun", "load: {operation: grant, duration: 1h}", 0, 2 * time.Hour, ""},
		{"ended", "load: {operation: revoke, requests: 5000}", 5000, 10 * time.Minute, ""},
		{"ended at a rate", "load: {operation: revoke, rate: 500, duration: 10s}", 5000, 10 * time.Minute, ""},
		{"as many begun as ended", "load: {mix: {grant: 1, keepalive: 8, revoke: 1}, duration: 10s}", 1000, 10 * time.Minute, ""},
		{"some ended", "load: {mix: {keepalive: 1, revoke: 1}, requests: 10000, sessions: 5100, clients: 100, session_ttl: 5s}", 5100, 5 * time.Second, ""},
		{"no operation of sessions", "load: {operation: read}", 0, 0, ""},
		{"too few to end", "load: {operation: revoke, requests: 5000, sessions: 4999}", 0, 0,
			"x.yaml:3:53: sessions must be at least 5000 (5000 that the load ends beyond those that it begins, and 0 that its clients have at the same time), got 4999"},
		{"too few for the clients", "load: {operation: keepalive, clients: 10, sessions: 9}", 0, 0,
			"x.yaml:3:53: sessions must be at least 10 (0 that the load ends beyond those that it begins, and 10 that its clients have at the same time), got 9"},
		{"ended without an end", "load: {operation: revoke, duration: 10s}", 0, 0,
			"x.yaml:3:19: revoke ends more sessions than grant begins, so it must be known how many requests there are: give requests, or a rate with a duration, or as much grant as revoke"},
		{"ended in a search", "capacity: {}\nload: {operation: revoke}", 0, 0, "x.yaml:4:19: revoke ends more sessions than grant begins"},
		{"no TTL", "load: {operation: grant, session_ttl: 0s}", 0, 0, "x.yaml:3:39: session_ttl must be positive, got 0s"},
		{"too many", "load: {operation: keepalive, sessions: 20000000}", 0, 0, "x.yaml:3:40: sessions must be at most 10000000, got 20000000"},
		{"connections", "load: {operation: keepalive}\ndatabases: {zookeeper: }", 0, 0,
			`x.yaml:3:19: operation: zookeeper does not support "keepalive" because a session is a connection (it supports write, update, read, read-oneshot, delete, swap, txn, create)`},
		{"a proxy", "load: {mix: {grant: 1, write: 1}}\ndatabases: {zetcd: }", 0, 0, `x.yaml:3:14: mix: zetcd does not support "grant" because the proxy renews by itself (it supports`},
	} {
		file := body + test.file + "\n"
		if strings.Contains(test.file, "databases:") {
			file = "hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]\nseed: 1\n" + test.file + "\n"
		}
		e, _, err := Parse("x.yaml", []byte(file), testCatalog())
		switch {
		case test.problem == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.problem != "":
			if err == nil || !strings.HasPrefix(err.Error(), test.problem) {
				t.Errorf("%s: want %q, got %v", test.name, test.problem, err)
			}
		default:
			if l := e.Databases[0].Load; l.Sessions != test.sessions || l.SessionTTL != test.ttl {
				t.Errorf("%s: %d sessions with a TTL of %v, want %d with %v", test.name, l.Sessions, l.SessionTTL, test.sessions, test.ttl)
			}
		}
	}
}

// A value without effect, or with another effect than requested, is a warning.
func TestLoadSessionsWarnings(t *testing.T) {
	for file, want := range map[string]string{
		"load: {operation: read, sessions: 5}":                                            "x.yaml:3:35: warning: sessions: no operation of the load is of sessions",
		"load: {operation: grant, sessions: 5}":                                           "x.yaml:3:36: warning: sessions: no operation of the load takes a session that has begun",
		"load: {operation: grant, session_ttl: 1500ms}":                                   "x.yaml:3:39: warning: session_ttl: etcd grants TTLs of 2s and more, in steps of 1s: its sessions get 2s",
		"load: {operation: keepalive, rate: 10, session_ttl: 60s, duration: 2m}":          "x.yaml:3:53: warning: sessions: 10 renewals a second renew each of 1000 sessions once in 1m40s, so those end after their TTL of 1m0s",
		"load: {mix: {keepalive: 1, read: 9}, rate: 10, session_ttl: 200s, duration: 2m}": "x.yaml:3:61: warning: sessions: 1 renewals a second renew each of 1000 sessions once in 16m40s, so those end after their TTL of 3m20s",
	} {
		_, warnings, err := Parse("x.yaml", []byte(body+file+"\n"), testCatalog())
		if err != nil || len(warnings) != 1 || warnings[0].String() != want {
			t.Errorf("%s: %v, warnings %v; want one, %q", file, err, warnings, want)
		}
	}
}
