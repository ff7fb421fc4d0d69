package zetcd

import (
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/declared"
)

var _ database.Upstream = (*Options)(nil)

// SetUpstream sets the defaults of the built-in etcd: the version is the proxy's.
func (o *Options) SetUpstream(string) { o.Etcd.SetUpstream("") }

// Changed returns settings of the built-in etcd that differ from its defaults.
func (o *Options) Changed(string) []declared.Setting { return o.Etcd.Changed("") }
