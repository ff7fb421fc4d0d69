package consul

import (
	"cmp"

	"github.com/coreos/dbtester/pkg/database"
)

// members queries target members over its own connections.
type members struct {
	target    database.Target
	transport database.Transport // for load clients
	maxBody   int64              // of an answer about one key, in bytes
}

// members returns the members of a target that run with the options.
func (o *Options) members(t database.Target) members {
	return members{target: t, transport: o.Transport, maxBody: maxBody(max(o.MaxValue(0), t.MaxBytes))}
}

// perKey bounds a key and its value, in bytes.
func (m members) perKey() int { return cmp.Or(m.target.MaxBytes, int(m.maxBody)) }
