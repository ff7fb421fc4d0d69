package databasetest

import (
	"net"
	"strconv"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

// Cluster is members of one database on loopback addresses, run as a real agent
// would run them. Its methods fail the test on errors. It is stopped when the
// test ends.
type Cluster struct {
	t      testing.TB
	suite  Suite
	driver database.Driver
	hosts  []database.Host
}

// Start starts that many members of the suite's database on free ports of its
// addresses, and returns when every one is ready.
func Start(t testing.TB, s Suite, members int) *Cluster {
	t.Helper()
	panic("not yet")
}

// Driver returns the driver with the suite's options.
func (c *Cluster) Driver() database.Driver { return c.driver }

// Target returns what to dial to reach the cluster, with no preference.
func (c *Cluster) Target() database.Target {
	t := database.Target{Prefer: -1}
	for _, h := range c.hosts {
		t.Endpoints = append(t.Endpoints, net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports["client"])))
	}
	return t
}

// Kill ends a member at once, without a chance to clean up.
func (c *Cluster) Kill(member int) { c.t.Helper() }

// Restart starts a member that was killed or stopped again, on its directories
// as they are, and returns when it is ready.
func (c *Cluster) Restart(member int) { c.t.Helper() }

// Stop stops every member that runs, in order, and returns how each ended: nil
// for a clean exit.
func (c *Cluster) Stop() []error { return nil }

func run(t *testing.T, s Suite) {}
