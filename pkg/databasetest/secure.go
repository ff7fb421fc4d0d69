package databasetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// credentialsCase: only a client with the right credentials is admitted, and no error
// contains a password.
func credentialsCase(t *testing.T, f *fixture) {
	wrong := *f.suite.Auth
	wrong.Password = "not-" + wrong.Password
	for _, c := range []struct {
		name string
		auth *database.Auth
	}{{"wrong password", &wrong}, {"no credentials", nil}} {
		f.part(t, c.name, func(t *testing.T) {
			target := f.To(0)
			target.Auth = c.auth
			deniedCase(t, f, target)
		})
	}
}

// certificatesCase: only a client with a certificate from the member CA is admitted.
func certificatesCase(t *testing.T, f *fixture) {
	for _, c := range []struct {
		name string
		tls  *database.TLS
	}{
		{"plaintext", nil},
		{"no certificate", &database.TLS{CA: f.suite.TLS.CA}},
		{"another CA", Certificates(t, "127.0.0.1")},
	} {
		f.part(t, c.name, func(t *testing.T) {
			target := f.To(0)
			target.TLS = c.tls
			unreachedCase(t, f, target)
		})
	}
}

// deniedCase: writes and reads are denied, at once and without the password in the
// error, and no wrong number of keys is counted.
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
			t.Errorf("a client that is denied counts %d of %d keys without an error", n, count(t, f))
		} else if err != nil {
			mustDeny(t, f, err)
		}
	}
	if ctx.Err() != nil {
		t.Errorf("a denial takes more than %v", opWithin)
	}
}

// mustDeny fails the test unless err is a denial without the password.
func mustDeny(t *testing.T, f *fixture, err error) {
	t.Helper()
	t.Log(err)
	mustClass(t, err, database.ClassDenied, workload.Failed)
	mustKeep(t, f, err)
}

func mustKeep(t *testing.T, f *fixture, err error) {
	t.Helper()
	if f.suite.Auth == nil {
		return
	}
	if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, f.suite.Auth.Password) {
		t.Errorf("an error must not have the password: %s", text)
	}
}

// unreachedCase: a dial without the right TLS files fails soon, with the reason.
func unreachedCase(t *testing.T, f *fixture, target database.Target) {
	ctx, cancel := context.WithTimeout(t.Context(), opWithin)
	defer cancel()
	start := time.Now()
	client, err := f.driver.Dial(ctx, target)
	if err == nil {
		_ = client.Close()
		t.Fatal("a client without the right certificate is admitted")
	}
	t.Logf("after %v: %v", time.Since(start).Round(time.Millisecond), err)
	mustKeep(t, f, err)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the dial must fail before its deadline, with the reason: %v", err)
	}
	if target.TLS == nil && !strings.Contains(err.Error(), "TLS") && !strings.Contains(err.Error(), "HTTPS") {
		t.Errorf("the error must name TLS, so that it differs from that of a dead member: %v", err)
	}
}
