package zookeeper

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
)

// hasAdmin reports whether a release has the jars for the admin server. Releases that earlier
// versions installed from Maven lack them.
func hasAdmin(t testing.TB, jars string) bool {
	t.Helper()
	for _, pattern := range []string{"jetty-server-*.jar", "lib/jetty-server-*.jar"} {
		if found, err := filepath.Glob(filepath.Join(jars, pattern)); err != nil || len(found) > 0 {
			return err == nil
		}
	}
	return false
}

// snapshots: a member writes a snapshot with its keys on each request.
func snapshots(t *testing.T, c *databasetest.Cluster, admin bool) {
	if !admin {
		t.Skip("the release was installed without the jars of the admin server: install it again")
	}
	client := dial(t, c.Driver(), c.Target())
	defer client.Close()
	var sizes []int64
	for n := range 2 {
		if err := client.Put(t.Context(), fmt.Appendf(nil, "snapshot %d", n), make([]byte, 50_000)); err != nil {
			t.Fatalf("put a key: %v", err)
		}
		size, err := c.Driver().(database.Snapshotter).Snapshot(t.Context(), c.Target(), 0)
		if err != nil {
			t.Fatalf("make a snapshot: %v", err)
		}
		sizes = append(sizes, size)
	}
	if sizes[0] < 50_000 || sizes[1] < sizes[0]+50_000 {
		t.Errorf("snapshots of %d bytes, want each 50,000 more", sizes)
	}
}

// TestSnapshotAnswers: only an answer with a size is a snapshot, and only it needs
// credentials.
func TestSnapshotAnswers(t *testing.T) {
	t.Parallel()
	status, size, asked := http.StatusOK, "4711", 0
	wantUser := map[string]string{"/commands/snapshot?streaming=false": "digest u:p", "/commands/ruok": ""}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if want, known := wantUser[r.URL.String()]; !known || r.Header.Get("Authorization") != want {
			status = http.StatusTeapot
		}
		w.Header().Set("snapshot_size", size)
		w.WriteHeader(status)
		fmt.Fprintln(w, "{}")
	}))
	defer server.Close()
	host, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatalf("split the address: %v", err)
	}
	o, target := New(), database.Target{Endpoints: []string{net.JoinHostPort(host, "2181")}, Auth: &database.Auth{User: "u", Password: "p"}}
	if o.AdminPort, err = strconv.Atoi(port); err != nil {
		t.Fatalf("read the port: %v", err)
	}
	if n, err := o.Snapshot(t.Context(), target, 0); n != 4711 || err != nil {
		t.Errorf("%d bytes: %v", n, err)
	}
	if err := (admin{o.AdminPort, target, 0}).answers(t.Context()); err != nil {
		t.Errorf("an admin server that answers: %v", err)
	}
	before, secret := asked, target
	secret.TLS = &database.TLS{}
	if _, err := o.Snapshot(t.Context(), secret, 0); err == nil || !strings.Contains(err.Error(), "without TLS") || asked != before {
		t.Errorf("credentials that are sent over TLS only went to the admin server: %v", err)
	}
	secret.Auth, wantUser["/commands/snapshot?streaming=false"] = nil, "digest dbtester:dbtester"
	if n, err := o.Snapshot(t.Context(), secret, 0); n != 4711 || err != nil {
		t.Errorf("with TLS and no credentials: %d bytes: %v", n, err)
	}
	wantUser["/commands/snapshot?streaming=false"] = "digest u:p"
	for _, wrong := range []struct {
		status int
		size   string
	}{{http.StatusOK, ""}, {http.StatusOK, "0"}, {http.StatusOK, "much"}, {http.StatusUnauthorized, "1"}, {http.StatusTooManyRequests, "1"}} {
		status, size = wrong.status, wrong.size
		if n, err := o.Snapshot(t.Context(), target, 0); err == nil {
			t.Errorf("%+v is a snapshot of %d bytes", wrong, n)
		}
	}
	if _, err := o.Snapshot(t.Context(), target, 1); err == nil {
		t.Error("a member that does not exist made a snapshot")
	}
	server.Close()
	if err := (admin{o.AdminPort, target, 0}).answers(t.Context()); err == nil || !strings.Contains(err.Error(), "Jetty") {
		t.Errorf("without an admin server: %v", err)
	}
}

// TestPlanSnapshots: members have an admin server only if they shall and can make snapshots.
// It listens on their own address and replaces no data.
func TestPlanSnapshots(t *testing.T) {
	t.Parallel()
	o := New()
	if err := o.PlanSnapshots(database.SnapshotTarget{Version: "3.8.4"}); err == nil || o.AdminPort != 0 {
		t.Errorf("3.8.4 can be asked for snapshots: %v, port %d", err, o.AdminPort)
	}
	if err := o.PlanSnapshots(database.SnapshotTarget{Running: true}); err == nil || !strings.Contains(err.Error(), "admin_port") {
		t.Errorf("a running cluster without a port: %v", err)
	}
	secret := New()
	secret.AdminPort = 8080
	if err := secret.PlanSnapshots(database.SnapshotTarget{Running: true, Secret: true}); err == nil || !strings.Contains(err.Error(), "without TLS") {
		t.Errorf("a running cluster with TLS and credentials: %v", err)
	}
	if err := o.PlanSnapshots(database.SnapshotTarget{Version: "3.9.5"}); err != nil || o.AdminPort != defaultAdminPort {
		t.Errorf("3.9.5: %v, port %d", err, o.AdminPort)
	}
	plan, err := o.Plan(member(map[string]string{toolJars: "/opt/zookeeper"}))
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	for _, line := range []string{"admin.enableServer=true", "admin.serverAddress=::1", "admin.serverPort=8080", "admin.restore.enabled=false"} {
		if !strings.Contains(plan.Files[0].Content, line+"\n") {
			t.Errorf("zoo.cfg lacks %q", line)
		}
	}
	if plan.Listen[len(plan.Listen)-1] != "[::1]:8080" {
		t.Errorf("the member listens on %q", plan.Listen)
	}
}
