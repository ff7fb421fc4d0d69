package sysmetrics

import (
	"os"
	"path/filepath"
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

// Services are found by their processes, each once.
func TestRunningTimeServices(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, comm := range map[string]string{"1": "systemd", "20": "systemd-timesyn", "21": "chronyd", "22": "chronyd", "self": "ntpd"} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o750); err != nil {
			t.Fatalf("make the folder: %v", err)
		}
		if err := os.WriteFile(filepath.Join(root, name, "comm"), []byte(comm+"\n"), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "30"), 0o750); err != nil { // a process that has ended
		t.Fatalf("make the folder: %v", err)
	}
	if got, want := (&files{root: root}).runningTimeServices(), "chronyd, systemd-timesyncd"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (&files{root: filepath.Join(root, "none")}).runningTimeServices(); got != "" {
		t.Errorf("%q without any process", got)
	}
}
