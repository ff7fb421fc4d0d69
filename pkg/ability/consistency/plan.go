package consistency

import (
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
)

// Plan returns the verdict on a load before it begins: its form, and why the load will not be
// judged. parts is the number of generators that issue the load, 0 if control does, and reuse means
// that others have keys below its prefix. No other code decides this. Unless the file forbids it, a
// load is judged or its stale reads measured where its values name the requests that wrote them and
// each part knows all writers to its keys.
func Plan(wish Wish, l *workload.Load, info *database.Info, parts int, reuse bool) Verdict {
	if wish == Off {
		return Verdict{Form: Unasked}
	}
	promise := info.Promises[l.Read]
	v := Verdict{Form: Judged, Read: l.Read, Promise: promise.Text}
	none := func(why string) Verdict {
		v.Form, v.Why = Unjudged, why
		return v
	}
	switch {
	case !slices.ContainsFunc(l.Operations(), Judges):
		return none("no operation of the load is judged")
	case !l.OwnKeys(parts):
		return none(Shared)
	case reuse && wish == ByDefault:
		return none("others may write the keys that reuse: true takes over")
	case l.ValueSize < LeastValue:
		return none(fmt.Sprintf("values of less than %d bytes do not name the requests that wrote them", LeastValue))
	case l.Read != "" && !promise.Linearizable:
		v.Form, v.Why = Measured, fmt.Sprintf("%s reads promise less than linearizability: %s", l.Read, v.Promise)
	}
	return v
}

// Judges reports whether requests for an operation are judged: it must read, write or delete single
// keys.
func Judges(op workload.Op) bool { return op.Creates() || op.NeedsKey() && !op.Ranges() }
