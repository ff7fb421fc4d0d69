package yamlfile

import "testing"

// TestSizeOption: an option in bytes takes a plain number or a size with a unit.
func TestSizeOption(t *testing.T) {
	for text, want := range map[string]int64{
		"12": 12, "12MB": 12_000_000, "1 GiB": 1 << 30, "8000000000": 8_000_000_000, "8GB": 8_000_000_000,
	} {
		options := struct {
			Quota int64 `yaml:"quota" unit:"bytes"`
		}{}
		if problems := readQuota(text, &options); problems != "" || options.Quota != want {
			t.Errorf("%s is read as %d (%s), want %d", text, options.Quota, problems, want)
		}
	}
	narrow := struct {
		Size int32 `yaml:"quota" unit:"bytes"`
	}{}
	for _, text := range []string{"12 apples", "1.5B", "[1]", "8GB"} {
		if readQuota(text, &narrow) == "" {
			t.Errorf("%s is read as %d, want an error", text, narrow.Size)
		}
	}
}

// TestSizeSchema: the schema of an option in bytes accepts the same values as the option, and the
// schema of another number does not.
func TestSizeSchema(t *testing.T) {
	s := OptionsSchema(Options(&struct {
		Quota int64 `yaml:"quota" unit:"bytes"`
		Count int64 `yaml:"count"`
	}{}))
	properties := s["properties"].(Schema)
	if properties["quota"].(Schema)["anyOf"] == nil || properties["count"].(Schema)["type"] != "integer" {
		t.Errorf("the schema is %v, want quota as a number or a size, and count as a number", properties)
	}
}

// readQuota reads a file with the key quota into options and returns its problems.
func readQuota(text string, options any) string {
	r := New("f")
	ReadOptions(r, "options", r.Document([]byte("quota: "+text)), options)
	if err := r.Err(); err != nil {
		return err.Error()
	}
	return ""
}
