package watch

import (
	"bytes"

	"github.com/coreos/dbtester/pkg/load/requests"
	"github.com/coreos/dbtester/pkg/workload"
)

// keys computes the keys of a load from their numbers.
type keys struct {
	load     *workload.Load
	existing int64  // that operations take
	same     []byte // the one key for all requests, nil if they have several
}

func keysOf(l *workload.Load) keys {
	k := keys{load: l, existing: max(l.Keys, 1)}
	if l.SameKey {
		k.existing, k.same = 1, requests.AppendKey(nil, l, 0)
	}
	return k
}

// name returns the key for a number.
func (k keys) name(number int64) []byte { return requests.AppendKey(nil, k.load, number) }

// number inverts name; known is false for a key that is not the load's.
func (k keys) number(name []byte) (number int64, known bool) {
	if k.same != nil {
		return 0, bytes.Equal(name, k.same)
	}
	return workload.KeyNumber(name, k.load.KeySize)
}
