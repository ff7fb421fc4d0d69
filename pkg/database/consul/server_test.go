package consul

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/workload"
)

func dial(t testing.TB, c *databasetest.Cluster, target database.Target) database.Client {
	t.Helper()
	dialed, err := c.Driver().Dial(t.Context(), target)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { _ = dialed.Close() })
	return dialed
}

// dialWithin dials until the member has room for a connection: a connection closed by a
// probe, or after a refused value, counts until Consul notices.
func dialWithin(t *testing.T, c *databasetest.Cluster) database.Client {
	t.Helper()
	var conn database.Client
	databasetest.Until(t, databasetest.Patience, 50*time.Millisecond, func() (err error) {
		conn, err = c.Driver().Dial(t.Context(), c.Target())
		return err
	})
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Options reach the server: a smaller value, few connections, and snapshots by a
// raw flag, which the log rules find.
func TestServerOptions(t *testing.T) {
	t.Parallel()
	c := startOne(t, `{kv_max_value_size: 1000, http_max_conns_per_client: 2, flags: ["-hcl=raft_snapshot_threshold = 20 raft_snapshot_interval = \"1s\""]}`)
	conn := dialWithin(t, c)
	for i := range 60 {
		mustClass(t, conn.Put(t.Context(), fmt.Append(nil, i), make([]byte, 1000)), "", workload.OK)
	}
	mustClass(t, conn.Put(t.Context(), []byte("k"), make([]byte, 1001)), database.ClassTooLarge, workload.Failed)

	dialWithin(t, c)
	if third, err := c.Driver().Dial(t.Context(), c.Target()); err == nil {
		_ = third.Close()
		t.Error("a third connection passes a limit of 2")
	} else if !strings.Contains(err.Error(), "http_max_conns_per_client") {
		t.Errorf("a connection above the limit: %v", err)
	}

	deadline := time.Now().Add(databasetest.Patience)
	for !hasEvents(t, c, "leader elected", "snapshot") {
		if time.Now().After(deadline) {
			t.Fatal("the rules find no election and no snapshot")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// hasEvents reports whether the log rules find all these event kinds.
func hasEvents(t *testing.T, c *databasetest.Cluster, want ...string) bool {
	t.Helper()
	log, err := os.ReadFile(c.Logs(0, Name))
	if err != nil {
		t.Fatalf("read file: %v", err)
	}
	found := map[string]bool{}
	for _, rule := range c.Plan(0).LogRules {
		found[rule.Event] = regexp.MustCompile(rule.Pattern).Match(log)
	}
	for _, event := range want {
		if !found[event] {
			return false
		}
	}
	return true
}

// Members on one address are distinguished by their ports, and every member reports the
// same leader.
func TestOneAddress(t *testing.T) {
	t.Parallel()
	s := suite(t)
	s.Addrs = []string{"127.0.5.5", "127.0.5.5", "127.0.5.5"}
	c := databasetest.Start(t, s, 3)
	driver := c.Driver().(*Options)
	leads, err := driver.Leader(t.Context(), c.Target())
	if err != nil {
		t.Fatalf("find the leader: %v", err)
	}
	var addr, self string
	if err := driver.members(c.Target()).ask(leads, func(conn *client) error { return conn.getJSON(t.Context(), "/v1/status/leader", &addr) }); err != nil {
		t.Fatalf("ask the server: %v", err)
	}
	for _, listen := range c.Plan(leads).Listen {
		if listen == addr {
			self = listen
		}
	}
	if self == "" {
		t.Errorf("member %d leads and listens on %v, the leader is %s", leads, c.Plan(leads).Listen, addr)
	}
	// If the leader is not among them, no member is called leader.
	target := c.Target()
	target.Endpoints = append(target.Endpoints[:leads:leads], target.Endpoints[leads+1:]...)
	if who, err := driver.Leader(t.Context(), target); err == nil {
		t.Errorf("member %d of %v is called leader", who, target.Endpoints)
	}
}

// With TLS, members and clients need a certificate from the CA.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := suite(t)
	s.Addrs = []string{"127.0.5.6", "127.0.5.7"}
	s.TLS = databasetest.Certificates(t, s.Addrs...)
	c := databasetest.Start(t, s, 2)
	overBoth(t, func(t *testing.T, o way) {
		for member := range s.Addrs {
			conn, err := o.Dial(t.Context(), c.To(member))
			if err != nil {
				t.Fatalf("dial: %v", err)
			}
			untilLed(t, func() error { return conn.Put(t.Context(), []byte("k"), []byte("v")) })
			_ = conn.Close()
		}
		for name, tls := range map[string]*database.TLS{
			"plaintext":      nil,
			"no certificate": {CA: s.TLS.CA},
			"another CA":     databasetest.Certificates(t, s.Addrs...),
			"no such file":   {CA: "/no/such/file"},
			"no PEM":         {CA: s.TLS.Key},
		} {
			target := c.Target()
			target.TLS = tls
			if conn, err := o.Dial(t.Context(), target); err == nil {
				_ = conn.Close()
				t.Errorf("%s: is let in", name)
			}
		}
	})
	untilLed(t, func() error {
		n, err := New().CountKeys(t.Context(), c.Target())
		if err == nil && n != 1 {
			t.Errorf("%d keys, want 1", n)
		}
		return err
	})
}

// untilLed repeats a request until it has no error: on a busy machine two members may be without a
// leader for a while.
func untilLed(t *testing.T, request func() error) {
	t.Helper()
	databasetest.Until(t, databasetest.Patience, 50*time.Millisecond, request)
}

// Without a quorum a member is not ready, writes are refused or unknown, and stale
// reads continue.
func TestNoQuorum(t *testing.T) {
	t.Parallel()
	s := suite(t)
	s.Addrs = []string{"127.0.5.8", "127.0.5.9"}
	c := databasetest.Start(t, s, 2)
	conn := dial(t, c, c.To(0))
	untilLed(t, func() error { return conn.Put(t.Context(), []byte("k"), []byte("v")) })
	untilLed(t, func() error {
		_, err := conn.Get(t.Context(), []byte("k"), workload.ReadStale)
		return err
	})
	c.Kill(1)
	within := func() context.Context {
		// Consul holds a request for 7 s while it hopes for a leader.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	for deadline := time.Now().Add(databasetest.Patience); c.Driver().Ready(within(), c.Target(), 0) == nil; {
		if time.Now().After(deadline) {
			t.Fatal("a member alone of two stays ready")
		}
	}
	err := conn.Put(within(), []byte("k"), []byte("w"))
	if outcome, class := database.Classify(err); outcome == workload.OK || class == database.ClassOther {
		t.Errorf("a write without a quorum: %v", err)
	}
	if value, err := conn.Get(t.Context(), []byte("k"), workload.ReadStale); err != nil || string(value) != "v" {
		t.Errorf("a stale read without a quorum: %q, %v", value, err)
	}
}

// With TLS and ACLs, over every transport.
func TestSecure(t *testing.T) {
	const token = "8f246b77-f3e1-ff88-5b48-8ec93abf3e05"
	s := suite(t)
	s.Addrs = []string{"127.0.5.10", "127.0.5.11", "127.0.5.12"}
	s.TLS = databasetest.Certificates(t, s.Addrs...)
	s.Auth = &database.Auth{Password: token}
	s.Guarded, s.Part = true, databasetest.Clients
	for _, transport := range []database.Transport{database.Standard, database.Lean} {
		s.Options = fmt.Sprintf(`{transport: %s, flags: ['-hcl=acl { enabled = true default_policy = "deny" tokens { initial_management = "%s" agent = "%[2]s" } }']}`,
			transport, token)
		if transport == database.Lean {
			s.Elsewhere = []string{"sessions", "watches"} // over connections in the Consul library, whatever the transport
		}
		t.Run(string(transport), func(t *testing.T) { databasetest.Run(t, s) })
	}
	t.Run("a token for less", func(t *testing.T) { countWithLess(t, databasetest.Start(t, s, 1)) })
}

// With a token that may not read the only key, counting fails with that reason.
func countWithLess(t *testing.T, c *databasetest.Cluster) {
	t.Helper()
	target := c.Target()
	mustClass(t, dial(t, c, target).Put(t.Context(), []byte("k"), []byte("v")), "", workload.OK)
	config, err := target.TLS.Config()
	if err != nil {
		t.Fatalf("read the TLS files: %v", err)
	}
	library, err := api.NewClient(&api.Config{
		Address: target.Endpoints[0], Scheme: "https", Token: target.Auth.Password,
		Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
	})
	if err != nil {
		t.Fatalf("make the client library: %v", err)
	}
	policy := &api.ACLPolicy{Name: "less", Rules: `key_prefix "dbtester/" { policy = "write" }`}
	if _, _, err := library.ACL().PolicyCreate(policy, nil); err != nil {
		t.Fatalf("policy create: %v", err)
	}
	less, _, err := library.ACL().TokenCreate(&api.ACLToken{Policies: []*api.ACLLink{{Name: "less"}}}, nil)
	if err != nil {
		t.Fatalf("token create: %v", err)
	}
	target.Auth = &database.Auth{Password: less.SecretID}
	n, err := c.Driver().(*Options).CountKeys(t.Context(), target)
	if err == nil {
		t.Fatalf("a token that shows none of the keys counts %d", n)
	}
	mustClass(t, err, database.ClassDenied, workload.Failed)
}

// An invalid token is refused before anything is sent.
func TestBadToken(t *testing.T) {
	for _, auth := range []database.Auth{{}, {User: "bench", Password: "hunter2"}, {Password: "with\nlines"}} {
		target := database.Target{Endpoints: []string{"127.0.5.1:1"}, Auth: &auth}
		conn, err := New().Dial(t.Context(), target)
		if err == nil {
			_ = conn.Close()
			t.Fatalf("%v: is let in", auth)
		}
		if outcome, _ := database.Classify(err); outcome == workload.OK || auth.Password != "" && strings.Contains(err.Error(), auth.Password) {
			t.Errorf("%v: %v", auth, err)
		}
	}
}
