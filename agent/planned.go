package agent

import (
	"time"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/process/tap"
	"github.com/coreos/dbtester/pkg/results"
)

// planned is a Start whose request passed every check.
type planned struct {
	db     database.Database
	driver database.Driver
	member database.Member
	target database.Target
	tools  tools
	plan   database.Plan
	argv   [][]string // of every command, as it will run
	tag    string
	dir    string   // the session directory, below the work directory
	files  []string // the files that Collect indexes, below dir

	grouping grouping
	sampler  *sysmetrics.Sampler
	period   time.Duration // between two samples
	// metrics is where the member reports its metrics; nil without scraping.
	metrics *database.MetricsSource
	// tap intercepts the member's calls that put writes on disk; nil if no announced fault needs
	// it.
	tap *tap.Tap
	// upgrades are the member plans with the releases that faults start it with, by version.
	upgrades map[string]*planned
	disk     results.Disk // the file system that holds the data, and what its probes measured
	free     int64        // free bytes there; 0 if not known
}

// planner turns requests into planned members, using the agent options and the facts about its
// machine. It is safe for concurrent use.
type planner struct {
	opts Options
	own  owndisk.Own
	host results.Host
}

// grouping is the control group for a planned member with limits, or with faults that must
// distinguish it from other members on this machine.
type grouping struct {
	limits resources.Limits
	// tag is the member tag. apart reports whether faults need the group.
	tag   string
	apart bool
	// run and name are the group directories below the parent. The parent is nil if no group is
	// needed.
	run, name string
	parent    *cgroup.Parent
	// group is nil before it is made.
	group *cgroup.Group
}

// tools are the executables a plan may run in addition to this binary.
type tools struct {
	paths map[string]string
	// release is the release in the cache that holds the tools; nil if they are not from one.
	release *install.Release
	// given reports whether the server is an executable the agent was started with.
	given bool
	// pending reports that the release is not installed yet: a dry run expects it there.
	pending bool
}
