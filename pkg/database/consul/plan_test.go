package consul

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coreos/dbtester/pkg/database"
)

// The text in a member directory, a certificate path or a level never becomes a setting in
// consul.json or a separate flag.
func FuzzPlan(f *testing.F) {
	for _, seed := range [][2]string{{"/data/m", "INFO"}, {`/data/"},"enable_script_checks":true`, "x\n\"ui\":1"}, {"/é\u2028", "</script>"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, level string) {
		if !utf8.ValidString(path) || !utf8.ValidString(level) {
			t.Skip("JSON holds only UTF-8")
		}
		o := New()
		o.LogLevel = level
		hosts := Database().Info.FillPorts([]database.Host{{Addr: "10.0.0.1"}, {Addr: "::1"}})
		m := database.Member{Hosts: hosts, Dir: path, Tools: map[string]string{Name: "/consul"}, TLS: &database.TLS{CA: path, Cert: path, Key: path}}
		plan, err := o.Plan(m)
		if err != nil {
			t.Fatalf("make the plan: %v", err)
		}
		var config map[string]any
		if err := json.Unmarshal([]byte(plan.Files[0].Content), &config); err != nil {
			t.Fatalf("consul.json is not JSON: %v", err)
		}
		want := slices.Sorted(maps.Keys(o.config(m)))
		if got := slices.Sorted(maps.Keys(config)); !slices.Equal(got, want) {
			t.Errorf("consul.json has the keys %q, want %q", got, want)
		}
		if config["log_level"] != level || config["tls"].(map[string]any)["defaults"].(map[string]any)["ca_file"] != path {
			t.Errorf("level %q and path %q read back as %v", level, path, config)
		}
		for _, arg := range plan.Commands[0].Args[1:] {
			if !strings.HasPrefix(arg, "-") {
				t.Errorf("argument %q: want flags only", arg)
			}
		}
	})
}
