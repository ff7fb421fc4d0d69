// Command member serves a member of a built-in database for tests:
//
//	member serve NAME [ARGS...]
//
// It has the fake database too. make race builds it without the race detector and names it in
// [databasetest.MemberEnv].
package main

import (
	"fmt"
	"os"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/database/fake"
	"github.com/coreos/dbtester/pkg/databasetest"
)

func main() {
	databasetest.Serve(database.NewRegistry(append(all.Registry().All(), fake.Database())...))
	fmt.Fprintln(os.Stderr, "usage: member serve NAME [ARGS...]")
	os.Exit(1)
}
