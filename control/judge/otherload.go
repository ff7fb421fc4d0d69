package judge

import (
	"fmt"
	"strings"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// otherShare is the share of processors that others may use without a mark.
const otherShare = 0.10

// otherLoad marks machines that ran something besides the client and members.
func (v *verdict) otherLoad() {
	for _, o := range v.e.Run.OtherLoad {
		share := o.OtherCPUShare()
		if share <= otherShare {
			continue
		}
		v.mark(mark.OtherLoad, false, mark.Values{"share_percent": 100 * share, "processors": float64(o.CPUs), "mark_percent": 100 * otherShare},
			mark.Words{"host": o.Host, "parts": whoIsOn(o)})
	}
}

// whoIsOn names the client and the members on a machine.
func whoIsOn(o results.OtherLoad) string {
	var parts []string
	if o.Client {
		parts = append(parts, "the client")
	}
	for _, m := range o.Members {
		parts = append(parts, fmt.Sprintf("member %d", m+1))
	}
	return strings.Join(parts, ", ")
}
