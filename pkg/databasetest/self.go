package databasetest

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/coreos/dbtester/pkg/database"
)

// Self returns the command line, without a database name and arguments, that serves a member of a
// built-in database: with the program in [MemberEnv], or with the test binary.
func Self() []string {
	program := os.Getenv(MemberEnv)
	if program == "" {
		program = os.Args[0]
		if own, err := os.Executable(); err == nil { // which stays right in another directory
			program = own
		}
	}
	return []string{program, "serve"}
}

// Serve runs one member of a built-in server and does not return, if the program was started as
// "serve NAME ARGS...".
func Serve(r *database.Registry) {
	if len(os.Args) < 3 || os.Args[1] != "serve" {
		return
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

// MemberEnv names a program that serves members of built-in databases in place of the test binary,
// started like it as "serve NAME ARGS...". make race sets it. Built with the race detector, a
// server takes several times the CPU time, and the server is not under test.
const MemberEnv = "DBTESTER_MEMBER"
