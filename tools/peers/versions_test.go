package main

import (
	"os"
	"strings"
	"testing"
)

// The peer versions are those in go.mod.
func TestPeerVersions(t *testing.T) {
	got, err := peerVersions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for module, name := range map[string]string{"go.etcd.io/etcd/v3": "etcd's benchmark ", "go.etcd.io/etcd/client/v3": "clientv3 "} {
		_, rest, _ := strings.Cut(string(mod), "\t"+module+" ")
		version, _, _ := strings.Cut(rest, "\n")
		version, _, _ = strings.Cut(version, " ")
		if version == "" || !strings.Contains(got, name+version) {
			t.Errorf("got %q, want %s%s in it", got, name, version)
		}
	}
}
