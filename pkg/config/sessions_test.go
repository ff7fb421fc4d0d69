package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a file's sessions lack is one problem, however many databases there are, and so is a value
// that cannot be read.
func TestSessionsProblems(t *testing.T) {
	const three = "hosts: [10.0.0.1, 10.0.0.2, 10.0.0.3]\ndatabases: {etcd: , zookeeper: , consul: }\n"
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"a key with another name", "sessions: {hold: 10, ttl: 8s}\n" + three, []string{
			`x.yaml:1:11: sessions need held: how many are held, such as held: 1000`, `x.yaml:1:12: unknown key "hold" (did you mean "held"?)`}},
		{"no TTL", "sessions: {held: 10}\n" + three, []string{
			`x.yaml:1:11: sessions need ttl: the time without a renewal after which one is to end, such as ttl: 10s`}},
		{"no number", "sessions: {held: many, ttl: 8s}\n" + three, []string{`x.yaml:1:18: held: want a whole number, got "many"`}},
		{"no time", "sessions: {held: 10, ttl: soon}\n" + three, []string{`x.yaml:1:27: ttl: want a duration such as 10s, got "soon"`}},
		{"too many", "sessions: {held: 300000, ttl: 8s}\n" + three, []string{`x.yaml:1:18: sessions: held must be from 1 to 200000, got 300000`}},
		{"of a database", "hosts: [10.0.0.1]\ndatabases:\n  etcd: {sessions: {ttl: 8s}}\n  consul: {sessions: {held: 5, ttl: 10s}}\n", []string{
			`x.yaml:3:20: sessions need held: how many are held, such as held: 1000`}},
		{"shared between the file and its databases", "sessions: {held: 5}\nhosts: [10.0.0.1]\ndatabases:\n  etcd: {sessions: {ttl: 8s}}\n  consul: {sessions: {ttl: 10s}}\n", nil},
	} {
		_, _, err := Parse("x.yaml", []byte(test.file), testCatalog())
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
