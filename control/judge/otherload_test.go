package judge

import (
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/results"
)

// TestOtherLoad marks a machine that others used for more than a tenth.
func TestOtherLoad(t *testing.T) {
	for own, want := range map[float64]string{
		12: "45 % of the 4 processors of one, which runs the client, member 1, member 3, were used by other programs during the load (mark above 10 %)",
		26: "", // 4 s in 40 s
		31: "", // the client and the members were sampled a little later than the machine
	} {
		o := results.OtherLoad{Host: "one", Members: []int{0, 2}, Client: true, CPUs: 4, Length: 10 * time.Second, HostCPUSeconds: 30, OwnCPUSeconds: own}
		run := &results.DatabaseRun{Totals: &results.Totals{}, Issuing: results.Issuing{OtherLoad: []results.OtherLoad{o}}}
		got := ""
		for _, m := range plainMarks(Evidence{Run: run}) {
			if m.Code == mark.OtherLoad && !m.Invalid {
				got = m.Text
			}
		}
		if got != want {
			t.Errorf("own use of %g of 30 s: want mark %q, got %q", own, want, got)
		}
	}
}
