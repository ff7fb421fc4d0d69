package process

import "testing"

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21"
	for _, line := range []string{"7 (etcd)" + rest, "7 (a b) c)" + rest, "7 (()" + rest} {
		state, ticks, err := parseStat([]byte(line))
		if err != nil || state != 'S' || ticks != 4242 {
			t.Errorf("%q: %c %d %v", line, state, ticks, err)
		}
	}
	for _, line := range []string{"", "7 etcd S 1", "7 (etcd) S 1 2"} {
		if _, _, err := parseStat([]byte(line)); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}
