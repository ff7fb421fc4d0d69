package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
)

// Credentials for a cleanup go only to endpoints in the file named by the user, or come from flags.
// They never go to endpoints in a run folder.
func TestCleanupCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	text := "title: mine\nload: {requests: 10, rate: 10}\nauth: {user: bench, password_env: DBTESTER_TEST_PASSWORD}\ndatabases: {etcd: {endpoints: ['127.0.0.1:2379'], tag: etcd}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var errw bytes.Buffer
	a := &app{streams: streams{strings.NewReader(""), &errw, &errw}, registry: all.Registry()}
	access, err := a.accessOf(cleanupFlags{config: file})
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	if _, auth, err := access("etcd", []string{"127.0.0.1:2379"}); err != nil || auth == nil || auth.User != "bench" {
		t.Errorf("the file's endpoints: %+v, %v", auth, err)
	}
	for tag, endpoints := range map[string][]string{"etcd": {"203.0.113.9:2379"}, "other": {"127.0.0.1:2379"}} {
		if tls, auth, err := access(tag, endpoints); err == nil || tls != nil || auth != nil {
			t.Errorf("%s at %q gets credentials: %+v, %+v, %v", tag, endpoints, tls, auth, err)
		}
	}
	access, err = a.accessOf(cleanupFlags{})
	if err != nil {
		t.Fatal(err)
	}
	if tls, auth, err := access("etcd", []string{"203.0.113.9:2379"}); tls != nil || auth != nil || err != nil {
		t.Errorf("without flags: %+v, %+v, %v", tls, auth, err)
	}
	if _, err := a.accessOf(cleanupFlags{config: file, auth: config.Auth{User: "x"}}); err == nil {
		t.Error("a file and flags together must be refused")
	}
}

func TestCleanupAsks(t *testing.T) {
	for answer, ok := range map[string]bool{"yes\n": true, " yes \n": true, "y\n": false, "": false, "no\n": false} {
		var errw bytes.Buffer
		a := &app{streams: streams{strings.NewReader(answer), &errw, &errw}}
		if err := a.confirm(false, "nothing was removed")("remove 5 keys"); (err == nil) != ok || !strings.Contains(errw.String(), "remove 5 keys") {
			t.Errorf("after %q: %v\n%s", answer, err, errw.String())
		}
	}
}
