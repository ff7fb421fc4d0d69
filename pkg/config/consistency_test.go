package config

import (
	"strings"
	"testing"
)

// TestConsistencyProblems: an impossible verdict is refused at its place.
func TestConsistencyProblems(t *testing.T) {
	const load = "load: {clients: 4, requests: 9, operation: update, keys: 8, value_size: 32}\n"
	for _, test := range []struct{ name, rest, want string }{
		{"small values", "load: {clients: 4, requests: 9, operation: update, keys: 8, value_size: 15}\nconsistency: true\n", "4:14: consistency: values must have at least 16 bytes to name the requests that wrote them, got 15"},
		{"a sample without a verdict", "load: {clients: 4, requests: 9, operation: update, keys: 8, value_size: 15}\nconsistency_sample: 4\n", "4:21: consistency_sample: answers of etcd are not judged: values of less than 16 bytes do not name the requests that wrote them"},
		{"another word", load + "consistency: maybe\n", "4:14: consistency: want true, false or auto, got \"maybe\""},
		{"a misspelled word", load + "consistency: ato\n", "4:14: consistency: want true, false or auto, got \"ato\""},
		{"nothing", load + "consistency:\n", "4:13: consistency: want true, false or auto, got nothing"},
		{"a large sample", load + "consistency: true\nconsistency_sample: 65\n", "5:21: consistency_sample must be at most 64 keys, got 65"},
		{"a sample of generators", load + "consistency: true\nconsistency_sample: 4\ngenerators: [10.0.0.8, 10.0.0.9]\n", "5:21: consistency_sample: requests that generators issue are not recorded"},
	} {
		_, _, err := Parse("x.yaml", []byte(body+test.rest), testCatalog())
		if err == nil || !strings.Contains(err.Error(), "x.yaml:"+test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	for _, rest := range []string{"consistency: true\nconsistency_sample: 64\n", "consistency: false\nconsistency_sample: 4\n", "consistency_sample: 0\n", "consistency_sample: 4\n", "consistency: auto\nconsistency_sample: 4\n"} {
		if _, _, err := Parse("x.yaml", []byte(body+load+rest), testCatalog()); err != nil {
			t.Errorf("%s: %v", rest, err)
		}
	}
	for _, rest := range []string{
		"load: {clients: 4, requests: 9, operation: update, keys: 8, value_size: 15}\n",
		"load: {clients: 4, requests: 9, operation: update, keys: 9, key_law: uniform, value_size: 32}\ngenerators: [10.0.0.8, 10.0.0.9]\n",
		"load: {clients: 4, requests: 9, operation: keepalive, sessions: 8}\n",
	} {
		if _, _, err := Parse("x.yaml", []byte(body+rest), testCatalog()); err != nil {
			t.Errorf("a file that does not ask for a verdict it cannot have: %s: %v", rest, err)
		}
	}
}

// TestConsistencyShown: the default is shown as a word that reads as the default, even in a file
// that turns judging off for its other databases.
func TestConsistencyShown(t *testing.T) {
	e := parse(t, "hosts: [a]\nconsistency: false\ndatabases: {etcd: {consistency: auto}, consul: , zookeeper: {consistency: true}}\n")
	shown, err := Show(e)
	if err != nil {
		t.Fatalf("show the experiment: %v", err)
	}
	var got []string
	for line := range strings.Lines(string(shown)) {
		if word, ok := strings.CutPrefix(strings.TrimSpace(line), "consistency: "); ok {
			got = append(got, word)
		}
	}
	if want := "auto false true"; strings.Join(got, " ") != want {
		t.Errorf("the databases show %q, want %q:\n%s", got, want, shown)
	}
	wantSameAgain(t, "shown", shown)
}
