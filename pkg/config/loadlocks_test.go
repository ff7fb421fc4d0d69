package config

import (
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

// The settings for requests that take locks are complete after reading, and impossible ones are
// refused at their place.
func TestLoadLocks(t *testing.T) {
	const whole = "hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]\nseed: 1\n"
	for _, test := range []struct {
		name, file string
		want       workload.Locks
		keys       int64
		problem    string
	}{
		{"defaults", "load: {operation: lock}", workload.Locks{Recipe: "library", Hold: time.Millisecond, TTL: 10 * time.Second}, 1000, ""},
		{"given", "load: {mix: {lock: 1, update: 1}, keys: 5, lock_hold: 0s, lock_recipe: direct, lock_ttl: 4s}", workload.Locks{Recipe: "direct", TTL: 4 * time.Second}, 5, ""},
		{"one name", "load: {operation: lock, same_key: true}", workload.Locks{Recipe: "library", Hold: time.Millisecond, TTL: 10 * time.Second}, 0, ""},
		{"a delay", "load: {operation: lock}\ndatabases: {consul: }", workload.Locks{Recipe: "library", Hold: time.Millisecond, TTL: 10 * time.Second, Delay: 15 * time.Second}, 1000, ""},
		{"no locks", "load: {operation: read}", workload.Locks{}, 1000, ""},
		{"a proxy", "load: {operation: lock}\ndatabases: {zetcd: }", workload.Locks{}, 0, `x.yaml:3:19: operation: zetcd does not support "lock" because its proxy has none (it supports`},
		{"a proxy's mix", "load: {mix: {write: 1, lock: 1}}\ndatabases: {zetcd: }", workload.Locks{}, 0, `x.yaml:3:24: mix: zetcd does not support "lock" because its proxy has none (it supports`},
		{"no such recipe", "load: {operation: lock, lock_recipe: directly}", workload.Locks{}, 0, `x.yaml:3:38: lock_recipe: etcd has no recipe "directly"`},
		{"no TTL", "load: {operation: lock, lock_ttl: 0s}", workload.Locks{}, 0, "x.yaml:3:35: lock_ttl must be positive, got 0s"},
		{"held too long", "load: {operation: lock, lock_hold: 10s}", workload.Locks{}, 0, "x.yaml:3:36: lock_hold must be less than the timeout of 10s"},
	} {
		file := body + test.file + "\n"
		if strings.Contains(test.file, "databases:") {
			file = whole + test.file + "\n"
		}
		e, _, err := Parse("x.yaml", []byte(file), testCatalog())
		switch {
		case test.problem != "":
			if err == nil || !strings.HasPrefix(err.Error(), test.problem) {
				t.Errorf("%s: want %q, got %v", test.name, test.problem, err)
			}
		case err != nil:
			t.Errorf("%s: %v", test.name, err)
		default:
			l := e.Databases[0].Load
			if l.Locks != test.want || l.Keys != test.keys {
				t.Errorf("%s: %+v of %d names, want %+v of %d", test.name, l.Locks, l.Keys, test.want, test.keys)
			}
			if n := l.Existing(); l.Operation == workload.OpLock && n != 0 {
				t.Errorf("%s: %d keys are written for locks, want none", test.name, n)
			}
		}
	}
	for file, want := range map[string]string{
		"load: {operation: read, lock_hold: 1s}":    "x.yaml:3:36: warning: lock_hold: no operation of the load takes locks",
		"load: {operation: lock, lock_ttl: 2500ms}": "x.yaml:3:35: warning: lock_ttl: etcd grants TTLs of 2s and more, in steps of 1s: its sessions get 3s",
	} {
		_, warnings, err := Parse("x.yaml", []byte(body+file+"\n"), testCatalog())
		if err != nil || len(warnings) != 1 || warnings[0].String() != want {
			t.Errorf("%s: %v, warnings %v; want one, %q", file, err, warnings, want)
		}
	}
}
