// Package databasetest is the conformance suite that every database passes, and the
// small cluster it runs on.
//
// The test package for a database has a TestMain that calls [Main], so that plans for built-in
// servers can run the test binary again, and a test that calls [Run].
package databasetest

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/member"
	"github.com/coreos/dbtester/pkg/workload"
)

// Suite configures the tests for one database.
type Suite struct {
	Database database.Database
	// Options are YAML over the driver defaults.
	Options string
	// Addrs are the member loopback addresses, one each; the default is 127.0.0.1 to
	// 127.0.0.3. Give every database its own, because test packages run concurrently.
	Addrs []string
	// Tools are the executables for Info.Tools.
	Tools map[string]string
	// TLS is given to members and clients; nil means plaintext.
	TLS *database.TLS
	// Auth holds the client credentials; it may be nil. Options decide whether members require
	// them.
	Auth *database.Auth
	// TextKeys means that keys must be printable.
	TextKeys bool
	// Admit, if set, makes the members require Auth. It is called when they are ready;
	// until it returns, targets have no credentials.
	Admit func(testing.TB, *Cluster)
	// FixedLeader means that the cluster has no elections, so its leader is never killed
	// alone.
	FixedLeader bool
	// ExactLimit returns the largest value in bytes that member 0 accepts under a key of keySize
	// bytes, for databases where it depends on the member or on the credentials; nil means the
	// limit that the driver returns.
	ExactLimit func(t testing.TB, c *Cluster, keySize int) int
	// ServerCount returns a number that grows by one with every write that the servers log for
	// clients, whether or not it changed anything. It does not grow on an idle cluster. It is nil
	// for databases without such a number.
	ServerCount func(testing.TB, *Cluster) int64
	// Held returns all keys of the cluster by their stored names, each with a text of its value and
	// version as the servers report them. If it is nil, clients of the driver read the values.
	Held func(testing.TB, *Cluster) map[string]string
	// PrefixOptions are YAML over Options for the clients in the prefix case, which creates several
	// key spaces.
	PrefixOptions string
	// Guarded means that members require credentials for their metrics, which agents do not
	// have.
	Guarded bool
	// Version is the version members must report; empty means any.
	Version string
	// Lacks are range modes that this release does not know.
	Lacks []workload.RangeMode
	// Part is the part that runs, if not the whole suite.
	Part Part
	// Elsewhere names cases of the part that another suite in the package runs with the same code.
	// This suite runs them in make test-long only.
	Elsewhere []string
}

// Cluster runs members on loopback addresses, as an agent does. Its methods fail the test on errors
// and are not safe for concurrent use. Its members are killed when the test ends.
type Cluster struct {
	t       testing.TB
	suite   Suite
	driver  database.Driver
	hosts   []database.Host
	dir     string
	members []*member.Member // nil for stopped members
}
