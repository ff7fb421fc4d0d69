package chart

import (
	"testing"

	"github.com/coreos/dbtester/analyze/figure"
)

// TestDescribe: the description of a figure names each series once.
func TestDescribe(t *testing.T) {
	for want, f := range map[string]figure.Figure{
		"After a kill: etcd; consul":  {Title: "After a kill", Series: []figure.Series{{Name: "etcd"}, {Name: "etcd"}, {Name: "consul"}, {Name: "etcd"}}},
		"Latency. Of all requests: a": {Title: "Latency", Subtitle: "Of all requests", Series: []figure.Series{{Name: "a"}}},
		"Latency":                     {Title: "Latency"},
	} {
		if got := Describe(f); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
