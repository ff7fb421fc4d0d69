package databasetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database"
)

// Secure proves, on a cluster that wants TLS and the given credentials, that they
// are what lets a client in and that nothing else does. It is the short version of
// the suite for such a cluster. The credentials must not tell: no error may hold a
// password.
func Secure(t *testing.T, c *Cluster, auth database.Auth) {
	t.Helper()
	c.suite.Auth = &auth
	f := &fixture{Cluster: c}
	before := goleak.IgnoreCurrent()
	let := []string{"ready", "version", "leader", "write and read", "delete", "range", "swap", "count", "prefer"}
	for _, tc := range cases() {
		if slices.Contains(let, tc.name) && (tc.applies == nil || tc.applies(f)) {
			t.Run(tc.name, func(t *testing.T) { tc.run(t, f) })
		}
	}
	wrong := auth
	wrong.Password = "not-" + auth.Password
	for name, other := range map[string]*database.Auth{"wrong password": &wrong, "no credentials": nil} {
		f.part(t, name, func(t *testing.T) {
			target := f.To(0)
			target.Auth = other
			deniedCase(t, f, target)
		})
	}
	for name, tls := range map[string]*database.TLS{
		"plaintext":      nil,
		"no certificate": {CA: c.suite.TLS.CA},
		"another CA":     Certificates(t, "127.0.0.1"),
	} {
		f.part(t, name, func(t *testing.T) {
			target := f.To(0)
			target.TLS = tls
			unreachedCase(t, f, target)
		})
	}
	f.part(t, "leaks", func(t *testing.T) { goleak.VerifyNone(t, before) })
}

// deniedCase: nothing can be written or read, which is told by kind, at once and
// without the password; no key can be counted wrongly.
func deniedCase(t *testing.T, f *fixture, target database.Target) {
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	key := f.key()
	put(t, f.dial(t, f.Target()), key, []byte("theirs"))
	if client, err := f.driver.Dial(ctx, target); err != nil {
		mustDeny(t, f, err)
	} else {
		defer client.Close()
		mustDeny(t, f, client.Put(ctx, key, []byte("mine")))
		mustDeny(t, f, client.Put(ctx, f.key(), []byte("mine")))
		_, err := client.Get(ctx, key, f.info().Reads[0])
		mustDeny(t, f, err)
	}
	get(t, f.dial(t, f.Target()), key, f.info().Reads[0], []byte("theirs"))
	if counter, ok := f.driver.(database.Counter); ok {
		if n, err := counter.CountKeys(ctx, target); err == nil && n != count(t, f) {
			t.Errorf("%d keys are counted of %d, without an error", n, count(t, f))
		} else if err != nil {
			mustDeny(t, f, err)
		}
	}
	if ctx.Err() != nil {
		t.Errorf("a denial takes more than %v", opWithin)
	}
}

// mustDeny fails the test unless err is a denial that keeps the password.
func mustDeny(t *testing.T, f *fixture, err error) {
	t.Helper()
	t.Log(err)
	mustClass(t, err, database.ClassDenied, database.Failed)
	mustKeep(t, f, err)
}

func mustKeep(t *testing.T, f *fixture, err error) {
	t.Helper()
	if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, f.suite.Auth.Password) {
		t.Errorf("an error holds the password: %s", text)
	}
}

// unreachedCase: a client that does not speak the members' TLS has no connection,
// and the reason soon.
func unreachedCase(t *testing.T, f *fixture, target database.Target) {
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	start := time.Now()
	client, err := f.driver.Dial(ctx, target)
	if err == nil {
		_ = client.Close()
		t.Fatal("is let in")
	}
	t.Logf("after %v: %v", time.Since(start).Round(time.Millisecond), err)
	mustKeep(t, f, err)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("only time tells that this is no way in: %v", err)
	}
	if target.TLS == nil && !strings.Contains(err.Error(), "TLS") && !strings.Contains(err.Error(), "HTTPS") {
		t.Errorf("plaintext is not told from a dead member: %v", err)
	}
}
