package zetcd

import "github.com/coreos/dbtester/pkg/database"

var _ database.Upstream = (*Options)(nil)

// SetUpstream sets the defaults of the built-in etcd: version is that of the proxy.
func (o *Options) SetUpstream(string) { o.Etcd.SetUpstream("") }

// Changed returns the settings of the built-in etcd that differ from its defaults.
func (o *Options) Changed(string) []database.Setting { return o.Etcd.Changed("") }
