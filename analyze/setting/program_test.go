package setting

import (
	"testing"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/results"
)

func TestSameProgram(t *testing.T) {
	release := func(hash string) *run.Run {
		return recorded(func(r *run.Run) {
			for i := range r.Info.Record.Members {
				r.Info.Record.Members[i].Release = &results.Release{Name: "etcd", Version: "label", SHA256: map[string]string{"etcd": hash}}
			}
		})
	}
	builtIn := func(version string) *run.Run {
		return recorded(func(r *run.Run) { r.Info.Record.Built, r.Info.Manifest.Tool.Version = run.BuiltIn, version })
	}
	for _, tc := range []struct {
		what string
		a, b *run.Run
		want bool
	}{
		{"two labels of one executable", release("aa"), release("aa"), true},
		{"two executables", release("aa"), release("bb"), false},
		{"the server in one dbtester", builtIn("v1"), builtIn("v1"), true},
		{"the servers in two versions of dbtester", builtIn("v1"), builtIn("v2"), false},
		{"a release and the built-in server", release("aa"), builtIn("v1"), false},
		{"executables that nobody hashed", recorded(nil), recorded(nil), false},
	} {
		if got := SameProgram(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: one program is %v, want %v (%q and %q)", tc.what, got, tc.want, Program(tc.a), Program(tc.b))
		}
	}
}
