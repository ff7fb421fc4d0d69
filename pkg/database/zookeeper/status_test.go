package zookeeper

import "testing"

func TestParseStatus(t *testing.T) {
	answer := func(version, mode string) string {
		return "Zookeeper version: " + version + ", built on 2026-01-02 12:00 UTC\nLatency min/avg/max: 0/1.5/9\n" +
			"Received: 4\nZxid: 0x100000002\nMode: " + mode + "\nNode count: 5\nProposal sizes last/min/max: 32/32/36\n"
	}
	tests := []struct {
		text string
		want status
	}{
		{answer("3.9.5-6a8f1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b", "follower"), status{"3.9.5", "follower"}},
		{answer("3.5.3-beta-8ce24f9e675cbefffb8f21a47e06b42864475a60", "leader"), status{"3.5.3-beta", "leader"}},
		{answer("3.6.4--d65253dcf68e9097c6e95a126463fd5fdeb4521c", "leader"), status{"3.6.4", "leader"}},
		{answer("3.4.6-1569965", "standalone"), status{"3.4.6", "standalone"}},
		{answer("3.9.5", "observer"), status{"3.9.5", "observer"}},
	}
	for _, tt := range tests {
		if got, err := parseStatus(tt.text); err != nil || got != tt.want {
			t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
		}
	}
	for _, text := range []string{"", "This ZooKeeper instance is not currently serving requests\n", "srvr is not executed because it is not in the whitelist.\n"} {
		if got, err := parseStatus(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func TestServes(t *testing.T) {
	tests := []struct {
		mode          string
		members       int
		serves, leads bool
	}{
		{"leader", 3, true, true},
		{"follower", 3, true, false},
		// A member that did not find the others is not in their cluster.
		{"standalone", 3, false, false},
		{"standalone", 1, true, true},
		{"observer", 3, false, false},
		{"read-only", 3, false, false},
	}
	for _, tt := range tests {
		s := status{mode: tt.mode}
		if s.serves(tt.members) != tt.serves || s.leads(tt.members) != tt.leads {
			t.Errorf("%s of %d: serves %v, leads %v", tt.mode, tt.members, s.serves(tt.members), s.leads(tt.members))
		}
	}
}
