package issuer

import (
	"context"
	"errors"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/connect"
	"github.com/coreos/dbtester/pkg/workload"
)

// Preload describes the writing of keys before a load. Clients and Connections are numbers over all
// parts; a request has up to PerRequest keys.
type Preload struct{ Clients, Connections, PerRequest int }

// Preload grants the sessions and writes the keys for this part. Any goroutine may call progress:
// once a second if a request writes one key, else with each request and only with the number of
// written keys.
func (i *Issuer) Preload(ctx context.Context, d *connect.Dialer, p Preload, progress func(load.Progress)) error {
	spec := i.opts.Spec
	if spec.Any(workload.Op.OfSessions) {
		i.leased.over(d, int(min(i.share(p.Connections), i.share(p.Clients))))
		if err := i.leased.fill(ctx, &spec); err != nil {
			return err
		}
	}
	if spec.Existing() == 0 {
		return nil
	}
	if p.PerRequest > 1 {
		bulker, ok := i.opts.Driver.(database.Bulker)
		if !ok {
			return errors.New("clients of " + i.opts.Database + " cannot write many keys in a request")
		}
		conns, err := d.Bulk(ctx, bulker, int(i.share(p.Connections)))
		if err != nil {
			return err
		}
		err = load.PreloadBulk(ctx, spec, p.PerRequest, conns, func(keys int64) { progress(load.Progress{Done: keys}) })
		return errors.Join(err, database.CloseAll(conns))
	}
	conns, err := d.Open(ctx, int(min(i.share(p.Connections), i.share(p.Clients))))
	if err != nil {
		return err
	}
	spec.Keys = max(spec.Keys, spec.Load.Preload)
	return errors.Join(load.Preload(ctx, spec, p.Clients, conns, progress), database.CloseAll(conns))
}
