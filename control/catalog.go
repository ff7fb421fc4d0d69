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
			Name:       d.Name,
			Options:    func() any { return d.New() },
			Validate:   validate,
			Reads:      slices.Clone(d.Info.Reads),
			Operations: slices.Clone(d.Info.Operations),
			Ports:      d.Info.Ports,
			Failover:   d.Info.Failover,
			SharedConn: d.Info.SharedConn,
			TLS:        d.Info.TLS,
			Auth:       d.Info.Auth,
			MaxValue:   d.Info.MaxValue,
			Leader:     leader,
			Prefix:     prefix,
			Sizes:      sizes,
			FitMemory:  fit,
			Embedded:   embedded,
			Upstream:   upstream,
			Classic:    classic,
		})
	}
	return c
}
