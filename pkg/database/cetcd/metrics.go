package cetcd

import "github.com/coreos/dbtester/pkg/database"

var _ database.Metered = (*Options)(nil)

// Metrics returns those of the etcd behind the proxy, which reports none of its own.
func (o *Options) Metrics(m database.Member) database.MetricsSource {
	return o.Server.Metrics(etcdMember(m))
}
