package config

import (
	"strings"
	"testing"
)

// TestPreload: data before a load by keys or bytes, what it means for the keys of operations, and
// the shown file.
func TestPreload(t *testing.T) {
	e := parse(t, `title: Preload
hosts: [10.0.0.1]
load: {preload: {bytes: 4GiB}, requests: 10, clients: 1, key_size: 256, value_size: 1KiB}
databases:
  etcd__write:
  etcd__sizes: {load: {value_size: 256B-1792B}}
  etcd__read: {load: {operation: read}}
  etcd__some: {load: {operation: update, keys: 500, preload: {keys: 1000}}}
  etcd__one: {load: {operation: update, same_key: true}}
`)
	const all = 4 << 30 / 1280
	want := map[string][3]int64{ // preload, keys, existing
		"etcd__write": {all, 0, all}, "etcd__sizes": {all, 0, all}, "etcd__read": {all, all, all},
		"etcd__some": {1000, 500, 1000}, "etcd__one": {0, 0, 1},
	}
	for _, d := range e.Databases {
		if got := [3]int64{d.Load.Preload, d.Load.Keys, d.Load.Existing()}; got != want[d.ID] {
			t.Errorf("%s: preload, keys and existing keys are %d, want %d", d.ID, got, want[d.ID])
		}
	}
	if got := e.Databases[0].Load.KeyNumbers(10); got != all+10 {
		t.Errorf("%d key numbers, want those of the data and of ten writes: %d", got, all+10)
	}
}

// TestMembers: the first hosts are members, in all databases or in one.
func TestMembers(t *testing.T) {
	e := parse(t, `title: Members
hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5]
members: 3
databases:
  etcd__three:
  etcd__one: {members: 1}
  etcd__five: {members: 5}
  etcd__own: {hosts: [10.0.0.9], members: 1}
  etcd__runs: {endpoints: ["10.0.0.9:2379"]}
`)
	for i, want := range []string{"10.0.0.1 10.0.0.2 10.0.0.3", "10.0.0.1", "10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5", "10.0.0.9", ""} {
		var got []string
		for _, h := range e.Databases[i].Hosts {
			got = append(got, h.Addr)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: members %v, want %s", e.Databases[i].ID, got, want)
		}
	}
}
