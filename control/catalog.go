package control

import (
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
)

// Catalog tells the configuration which databases a registry holds.
func Catalog(r *database.Registry) config.Catalog {
	var c config.Catalog
	for _, d := range r.All() {
		driver := d.New()
		_, embedded := driver.(database.Embedded)
		_, leader := driver.(database.Leader)
		c = append(c, config.Entry{
			Name:       d.Name,
			Options:    func() any { return d.New() },
			Reads:      words(d.Info.Reads),
			Operations: words(d.Info.Operations),
			Ports:      d.Info.Ports,
			SharedConn: d.Info.SharedConn,
			TLS:        d.Info.TLS,
			Auth:       d.Info.Auth,
			MaxValue:   d.Info.MaxValue,
			Leader:     leader,
			Embedded:   embedded,
		})
	}
	return c
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
