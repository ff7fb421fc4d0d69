package main

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain puts this binary into PATH as the program dbtester: tests and scripts run it, and
// it runs itself for built-in members.
func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite the outputs that scripts compare with")
	// In a binary built with -race, every process would sleep a second before it exits.
	if os.Getenv("GORACE") == "" {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	// Programs that the tests start mostly wait: for members, faults, leases and loads to end.
	_ = flag.Set("test.parallel", "6") // -parallel on the command line is parsed later
	testscript.Main(m, map[string]func(){"dbtester": main, "intruder": intruder, "wiretap": wiretap, "ledger": ledger})
}
