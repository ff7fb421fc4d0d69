// Package databasetest is the conformance suite that every database passes, and
// the small cluster it runs on.
//
// A database's test package has a TestMain that calls [Main], so that plans of
// built-in servers can run the test binary again, and one test that calls [Run].
package databasetest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// Suite says what to test.
type Suite struct {
	Database database.Database
	// Options are YAML over the driver's defaults.
	Options string
	// Addrs are the loopback addresses of the members, one each; the default is
	// 127.0.0.1 to 127.0.0.3. Give every database its own, as test packages run at
	// the same time.
	Addrs []string
	// Tools are the executables of Info.Tools.
	Tools map[string]string
	// LimitKeySize is the size of the key with which Info.MaxValue is tried, in
	// bytes; 0 is 256.
	LimitKeySize int
	// LimitSlack is how many bytes above Info.MaxValue + 1 must be sent to be sure
	// of a refusal, for databases whose limit moves with a header.
	LimitSlack int
}

// Main runs the tests of a package, or one member of a built-in server when the
// binary was started as "serve NAME ARGS...". It does not return.
func Main(m *testing.M, r *database.Registry) {
	if len(os.Args) < 3 || os.Args[1] != "serve" {
		os.Exit(m.Run())
	}
	if err := serve(r, os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintf(os.Stderr, "serve %s: %v\n", os.Args[2], err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(r *database.Registry, name string, args []string) error {
	db, err := r.Get(name)
	if err != nil {
		return err
	}
	server, ok := db.New().(database.Embedded)
	if !ok {
		return fmt.Errorf("%s has no built-in server", name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return server.Serve(ctx, args)
}

// Run runs every case of the suite against one cluster of three members. The
// names of the cases that ran are compared with testdata/cases.txt of the
// calling package; -update rewrites it.
func Run(t *testing.T, s Suite) {
	t.Helper()
	run(t, s)
}
