package table

import (
	"strings"
	"testing"
)

func TestSignificant(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.012345: "0.0123", 0.9996: "1.00", 1: "1.00", 9.996: "10.0", 18.612223: "18.6", 99.96: "100", 153.09: "153", 1631.6: "1,630", 999.6: "1,000", 12345678: "12,300,000", -2.5: "-2.50",
	} {
		if got := Significant(v); got != want {
			t.Errorf("%v = %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{0.472: "0.47", 1: "1.00", 1.049: "1.05", 1.099: "1.1", 1.64: "1.6", 9.96: "10", 1234.5: "1,235"} {
		if got := Ratio(v); got != want {
			t.Errorf("ratio %v = %q, want %q", v, got, want)
		}
	}
}

// Database names are cut between words, whatever the column count.
func TestNamesAreCutBetweenWords(t *testing.T) {
	header := []string{"", "consul-linearizable", "consul-get-stale-follower", "zookeeperlinearizable", "etcd", "cetcd"}
	cells := []string{"row"}
	for range header[1:] {
		cells = append(cells, "1")
	}
	text := Frame(header, [][][]string{{cells, {strings.Repeat("n", 50), "", "", "", "", ""}}})
	for _, want := range []string{"linearizable |", "follower |", "zookeeperlinearizable |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
