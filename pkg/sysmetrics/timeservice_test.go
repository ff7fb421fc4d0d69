package sysmetrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/pkg/results"
)

func TestKeptClock(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		timex unix.Timex
		want  results.Host
	}{
		{"kept", unix.Timex{Status: unix.STA_PLL | unix.STA_NANO, Maxerror: 2500, Esterror: 300},
			results.Host{ClockSync: "synchronized", ClockMaxError: 2500 * time.Microsecond, ClockEstError: 300 * time.Microsecond}},
		{"not kept", unix.Timex{Status: unix.STA_UNSYNC, Maxerror: 16_000_000, Esterror: 16_000_000}, results.Host{ClockSync: "not synchronized"}},
	} {
		var got results.Host
		keptClock(&got, &tc.timex)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}
