package config

import (
	"testing"

	"github.com/coreos/dbtester/pkg/config/classic"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// FuzzParse reads broken files: reading may fail but never panic, and a file that
// was read can be shown and read again.
func FuzzParse(f *testing.F) {
	for _, file := range []string{
		fullFile, mixedFile, classicFileForTest, body, string(Starter(testCatalog())),
		"databases: &a\n  <<: [*a, *a]\n", "load: {clients: [[1]], steps: }\n" + body, "a: &a [*a]\n",
		"test_title:\nall_database_id_list: {a: b}\n" + classic.ControlKey + ": {etcd: {etcd: [], benchmark_options: 1}}\n",
	} {
		f.Add([]byte(file))
	}
	catalog := testCatalog()
	f.Fuzz(func(t *testing.T, data []byte) {
		e, _, err := Parse("fuzz.yaml", data, catalog)
		if err != nil {
			for _, p := range yamlfile.AsProblems(err) {
				if p.Line < 1 || p.Col < 1 || p.Text == "" {
					t.Errorf("a problem without a place: %+v", p)
				}
			}
			return
		}
		shown, err := Show(e)
		if err != nil {
			t.Fatalf("show the experiment: %v", err)
		}
		if _, _, err := Parse("shown.yaml", shown, catalog); err != nil {
			t.Errorf("what was shown is refused: %v\n%s", err, shown)
		}
	})
}
