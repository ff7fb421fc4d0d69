package config

import (
	"strings"
	"testing"
)

// TestConsistencyProblems: a verdict that cannot be had is refused at its place.
func TestConsistencyProblems(t *testing.T) {
	const load = "load: {clients: 4, requests: 9, operation: update, keys: 8, value_size: 32}\n"
	for _, test := range []struct{ name, rest, want string }{
		{"small values", "load: {clients: 4, requests: 9, operation: update, keys: 8, value_size: 15}\nconsistency: true\n", "4:14: consistency: values must have at least 16 bytes to name the requests that wrote them, got 15"},
		{"a sample without a verdict", load + "consistency_sample: 4\n", "4:21: consistency_sample: answers of etcd are not judged: give consistency: true"},
		{"a large sample", load + "consistency: true\nconsistency_sample: 65\n", "5:21: consistency_sample must be at most 64 keys, got 65"},
		{"a sample of generators", load + "consistency: true\nconsistency_sample: 4\ngenerators: [10.0.0.8, 10.0.0.9]\n", "5:21: consistency_sample: requests that generators issue are not recorded"},
	} {
		_, _, err := Parse("x.yaml", []byte(body+test.rest), testCatalog())
		if err == nil || !strings.Contains(err.Error(), "x.yaml:"+test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	for _, rest := range []string{"consistency: true\nconsistency_sample: 64\n", "consistency: false\nconsistency_sample: 4\n", "consistency_sample: 0\n"} {
		if _, _, err := Parse("x.yaml", []byte(body+load+rest), testCatalog()); err != nil {
			t.Errorf("%s: %v", rest, err)
		}
	}
}
