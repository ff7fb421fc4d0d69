package selfcheck

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/wire/poller"
)

// serveArg makes this test binary the server, mirrorArg a database mirror.
const (
	serveArg  = "serve-selfcheck"
	mirrorArg = "mirror-selfcheck"
)

// serve runs the server named by the arguments; false means that they name no server.
func serve(ctx context.Context, args []string) (bool, error) {
	switch {
	case len(args) == 0:
		return false, nil
	case args[0] == serveArg:
		return true, Serve(ctx, args[1:])
	case args[0] == mirrorArg:
		return true, ServeMirror(ctx, all.Registry(), args[1:])
	}
	return false, nil
}

func TestMain(m *testing.M) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	served, err := serve(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if served {
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(poller.Forever))
}

// serverArgv runs this test binary as the server.
func serverArgv(t *testing.T) []string { return selfArgv(t, serveArg) }

func selfArgv(t *testing.T, arg string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	return []string{self, arg}
}
