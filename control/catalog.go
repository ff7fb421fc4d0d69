package control

import (
	"cmp"
	"slices"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// validate returns every option of a driver that is wrong on any machine.
func validate(options any) error {
	if v, ok := options.(database.Validator); ok {
		return v.Validate(database.HostFacts{})
	}
	return nil
}

// Catalog describes the databases of a registry for the configuration.
func Catalog(r *database.Registry) config.Catalog {
	var c config.Catalog
	for _, d := range r.All() {
		driver := d.New()
		_, embedded := driver.(database.Embedded)
		_, leader := driver.(database.Leader)
		_, compacts := driver.(database.Compacter)
		_, defrags := driver.(database.Defragmenter)
		_, snapshots := driver.(database.Snapshotter)
		_, prefix := driver.(database.Cleaner)
		_, sizes := driver.(database.FillReporter)
		var upstream func(any, string)
		if _, knows := driver.(database.Upstream); knows {
			embedded := d.Info.Embedded
			upstream = func(options any, version string) {
				options.(database.Upstream).SetUpstream(database.PlainVersion(cmp.Or(version, embedded)))
			}
		}
		var classic func(any) string
		if _, differs := driver.(database.Classic); differs {
			classic = func(options any) string { return options.(database.Classic).SetClassic() }
		}
		var fit func(any, int64, func(string) bool) error
		if _, fits := driver.(database.MemoryFitter); fits {
			fit = func(options any, bytes int64, given func(string) bool) error {
				return options.(database.MemoryFitter).FitMemory(bytes, given)
			}
		}
		c = append(c, config.Entry{
			Name:          d.Name,
			Options:       func() any { return d.New() },
			Validate:      validate,
			Reads:         slices.Clone(d.Info.Reads),
			Operations:    slices.Clone(d.Info.Operations),
			Ports:         d.Info.Ports,
			Failover:      d.Info.Failover,
			SharedConn:    d.Info.SharedConn,
			TLS:           d.Info.TLS,
			Auth:          d.Info.Auth,
			MaxValue:      d.Info.MaxValue,
			Leader:        leader,
			Compacts:      compacts,
			Defrags:       defrags,
			Snapshots:     snapshots,
			Prefix:        prefix,
			Sizes:         sizes,
			FitMemory:     fit,
			Embedded:      embedded,
			Upstream:      upstream,
			Classic:       classic,
			PlanSnapshots: planSnapshots(driver),

			CompactEvery: d.Info.CompactEvery,
		})
	}
	return c
}

// planSnapshots has the members of a driver started so that they can be asked for
// snapshots. It is nil for drivers that need nothing for that.
func planSnapshots(driver database.Driver) func(options any, version string, running, secret bool) error {
	if _, must := driver.(database.SnapshotPlanner); !must {
		return nil
	}
	return func(options any, version string, running, secret bool) error {
		return options.(database.SnapshotPlanner).PlanSnapshots(database.SnapshotTarget{
			Version: database.PlainVersion(version), Running: running, Secret: secret,
		})
	}
}
