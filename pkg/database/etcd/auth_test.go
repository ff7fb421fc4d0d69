package etcd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
	"github.com/coreos/dbtester/pkg/workload"
)

// secure returns a suite whose members have TLS and admit only root. Their passwords are cheap to
// check.
func secure(t testing.TB, transport database.Transport, addrs ...string) databasetest.Suite {
	s := suite()
	s.Addrs = addrs
	s.Options = "{transport: " + string(transport) + ", flags: [--bcrypt-cost=4]}"
	// Members see each other connect from 127.0.0.1, and check whether the certificate
	// contains that address.
	s.TLS = databasetest.Certificates(t, append(addrs, "127.0.0.1")...)
	s.Auth = &database.Auth{User: "root", Password: "hunter2"}
	s.Admit = func(t testing.TB, c *databasetest.Cluster) { admit(t, c, *s.Auth) }
	return s
}

// admit makes the members require users, and creates root.
func admit(t testing.TB, c *databasetest.Cluster, root database.Auth) {
	t.Helper()
	users, closes := usersOf(t, c)
	defer closes()
	_, err := users.UserAdd(t.Context(), &pb.AuthUserAddRequest{Name: root.User, Password: root.Password, Options: &authpb.UserAddOptions{}})
	if err != nil {
		t.Fatalf("user add: %v", err)
	}
	if _, err := users.RoleAdd(t.Context(), &pb.AuthRoleAddRequest{Name: "root"}); err != nil {
		t.Fatalf("role add: %v", err)
	}
	if _, err := users.UserGrantRole(t.Context(), &pb.AuthUserGrantRoleRequest{User: root.User, Role: "root"}); err != nil {
		t.Fatalf("user grant role: %v", err)
	}
	if _, err := users.AuthEnable(t.Context(), &pb.AuthEnableRequest{}); err != nil {
		t.Fatalf("auth enable: %v", err)
	}
}

// usersOf returns a client for users at member 0, with the cluster credentials.
func usersOf(t testing.TB, c *databasetest.Cluster) (users pb.AuthClient, closes func()) {
	t.Helper()
	conn, err := connect(c.To(0))
	if err != nil {
		t.Fatalf("connect to etcd: %v", err)
	}
	return pb.NewAuthClient(conn), func() { _ = conn.Close() }
}

// authRevision returns the number of changes to users.
func authRevision(t testing.TB, c *databasetest.Cluster) uint64 {
	t.Helper()
	users, closes := usersOf(t, c)
	defer closes()
	status, err := users.AuthStatus(t.Context(), &pb.AuthStatusRequest{})
	if err != nil {
		t.Fatalf("auth status: %v", err)
	}
	return status.AuthRevision
}

// With TLS and users.
func TestSecure(t *testing.T) {
	longByTransport(t, func(t *testing.T, transport database.Transport) {
		s := secure(t, transport, "127.0.2.11", "127.0.2.12", "127.0.2.13")
		s.Part = databasetest.Clients
		databasetest.Run(t, s)
	})
}

// When a password changes, members drop that user's tokens. Clients request new tokens, and no
// request fails for that reason.
func TestForgottenTokens(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	c := databasetest.Start(t, secure(t, database.Lean, "127.0.2.14"), 1)
	byTransport(t, func(t *testing.T, transport database.Transport) { forgottenTokens(t, c, transport) })
}

func forgottenTokens(t *testing.T, c *databasetest.Cluster, transport database.Transport) {
	client := dialBy(t, transport, c.To(0))
	users, closes := usersOf(t, c)
	defer closes()
	root := c.Target().Auth
	for range 3 { // and tokens with more than one age
		_, err := users.UserChangePassword(t.Context(), &pb.AuthUserChangePasswordRequest{Name: root.User, Password: root.Password})
		if err != nil {
			t.Fatalf("user change password: %v", err)
		}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				key := []byte{'k', byte(i)}
				if err := client.Put(t.Context(), key, key); err != nil {
					t.Errorf("put: %v", err)
				}
				if got, err := client.Get(t.Context(), key, workload.ReadLinearizable); err != nil || string(got) != string(key) {
					t.Errorf("get: %q, %v", got, err)
				}
			})
		}
		wg.Wait()
	}
}

// Impossible credentials, and credentials for a cluster without users, are denied, not
// ignored.
func TestUselessAuth(t *testing.T) {
	t.Parallel()
	c := startOne(t, "")
	byTransport(t, func(t *testing.T, transport database.Transport) {
		driver := New()
		driver.Transport = transport
		for _, auth := range []database.Auth{{}, {User: "a"}, {Password: "hunter2"}, {User: "a", Password: "hunter2"}} {
			target := c.To(0)
			target.Auth = &auth
			client, err := driver.Dial(t.Context(), target)
			if err == nil {
				_ = client.Close()
				t.Errorf("%v: is let in", auth)
				continue
			}
			if outcome, class := database.Classify(err); class != database.ClassDenied || outcome != workload.Failed {
				t.Errorf("%v: %v, %q: %v", auth, outcome, class, err)
			}
		}
	})
}

// If many calls find a stale value, one renews it and the others wait for it. Calls
// without time left do not wait.
func TestRenewed(t *testing.T) {
	r := newRenewed[int]()
	var made atomic.Int64
	anew := func(context.Context) (*int, error) {
		n := int(made.Add(1))
		return &n, nil
	}
	for round := 1; round <= 3; round++ {
		old := r.now.Load()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if v, err := r.renew(t.Context(), old, anew); err != nil || *v != round {
					t.Errorf("round %d: %v, %v", round, v, err)
				}
			})
		}
		wg.Wait()
	}
	if made.Load() != 3 {
		t.Errorf("made %d times in 3 rounds", made.Load())
	}
	now, broken := r.now.Load(), errors.New("broken")
	if _, err := r.renew(t.Context(), now, func(context.Context) (*int, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if r.now.Load() != now {
		t.Error("what could not be replaced is gone")
	}
	_, err := r.renew(t.Context(), now, func(ctx context.Context) (*int, error) {
		over, cancel := context.WithCancel(ctx)
		cancel()
		_, err := r.renew(over, now, anew)
		return nil, err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("who has no time waits: %v", err)
	}
}

func TestStale(t *testing.T) {
	for err, want := range map[error]bool{
		rpctypes.ErrGRPCInvalidAuthToken: true, rpctypes.ErrGRPCAuthOldRevision: true,
		rpctypes.ErrGRPCAuthFailed: false, rpctypes.ErrGRPCUserEmpty: false, context.Canceled: false, nil: false,
	} {
		if got := stale(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// A member that is behind learns a new token. A member that never does, or a caller
// without time, ends the retries.
func TestRetryNewToken(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name    string
		ctx     context.Context
		refused int // times
		want    error
		asked   int
	}{
		{"known", t.Context(), 0, nil, 1},
		{"behind", t.Context(), 3, nil, 4},
		{"never", t.Context(), 1000, rpctypes.ErrGRPCInvalidAuthToken, tokenRetries},
		{"no time", over, 1000, rpctypes.ErrGRPCInvalidAuthToken, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			err := retryNewToken(tt.ctx, func() error {
				if asked++; asked <= tt.refused {
					return rpctypes.ErrGRPCInvalidAuthToken
				}
				return nil
			})
			if !errors.Is(err, tt.want) || asked != tt.asked {
				t.Errorf("asked %d times, want %d: %v", asked, tt.asked, err)
			}
		})
	}
}
