package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/coreos/dbtester/agent/tenant"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/process"
	"github.com/coreos/dbtester/pkg/process/logfile"
)

// DefaultLease is the time a session lives without a sign from its control.
const DefaultLease = tenant.DefaultLease

// DefaultGrace is the time a verb may take to answer after its wait has ended.
const DefaultGrace = 900 * time.Millisecond

// Options configure an agent. They do not change after [New].
type Options struct {
	// Registry holds the databases this agent can run.
	Registry *database.Registry
	// WorkDir holds the session directories. It is made if absent and belongs to one agent at a
	// time.
	WorkDir string
	// Tools are the executables or directories that plans may use, by the names in
	// [database.Info.Tools].
	Tools map[string]string
	// Cache is the directory for releases, see [install.Installer]. Agents on one machine may share
	// it. Without a cache there are no releases.
	Cache string
	// Self is the argv that Self commands' arguments follow: this executable and
	// its verb "serve".
	Self []string
	// Lease is the time a session lives without a sign from its control; 0 is [DefaultLease].
	Lease time.Duration
	// Deadlines bound the stop of a member; zero is [process.DefaultDeadlines].
	Deadlines process.Deadlines
	// Grace is the time a verb may take to answer after its session or the agent has ended; 0 is
	// [DefaultGrace].
	Grace time.Duration
	// AllowBinary lets a Start name the executable to run.
	AllowBinary bool
	// AllowFlags lets a driver's options hold extra flags for its commands.
	AllowFlags bool
	// AllowFaults are the kinds of faults that may be applied to the member.
	AllowFaults []string
	// Disk gives each member its own disk, which faults may fill: "loop:SIZE", see [owndisk.Size],
	// which faults may also cut, or a directory, see [owndisk.CheckDir]. "" gives no disk.
	Disk string
	// Device and Interface are sampled; "" finds the device of the data directory and the interface
	// of the member.
	Device, Interface string
	// LogBound bounds the kept part of the log of each member command; zero is
	// [logfile.DefaultBound].
	LogBound logfile.Bound
	// Log receives events no verb caused; nil discards them. The session file
	// [results.FileAgentLog] receives them too. If the log belongs to a [runlog.Handler], the file
	// also has what the rest of the process logs meanwhile.
	Log *slog.Logger
	// Version is the version of this program.
	Version string
	// ClientNumPath, if not "", is a file that always holds the last client count as text.
	ClientNumPath string
}

// filled returns the options with their defaults, or the first problem.
func (o Options) filled() (Options, error) {
	if o.Registry == nil {
		return o, errors.New("an agent needs a registry of databases")
	}
	if o.WorkDir == "" {
		return o, errors.New("an agent needs a work directory")
	}
	dir, err := filepath.Abs(o.WorkDir)
	if err != nil {
		return o, fmt.Errorf("find work directory: %w", err)
	}
	o.WorkDir = dir
	if o.Cache != "" {
		if o.Cache, err = filepath.Abs(o.Cache); err != nil {
			return o, fmt.Errorf("find cache: %w", err)
		}
	}
	if o.Lease == 0 {
		o.Lease = DefaultLease
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Deadlines == (process.Deadlines{}) {
		o.Deadlines = process.DefaultDeadlines()
	}
	if o.LogBound == (logfile.Bound{}) {
		o.LogBound = logfile.DefaultBound()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Tools = maps.Clone(o.Tools)
	o.Self = slices.Clone(o.Self)
	return o, nil
}
