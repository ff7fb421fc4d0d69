package database_test

import (
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

func TestCheckUpgrade(t *testing.T) {
	for _, tt := range []struct{ from, to, want string }{
		{"v3.6.16", "3.7.3", ""}, {"3.6.15", "v3.6.16", ""}, {"3.7.0-rc.1", "3.7.0", ""}, {"3.7", "3.7.3", ""}, {"3.9.9", "3.10.0", ""},
		{"3.7.3", "v3.7.3", "the members run 3.7.3 already"},
		{"3.7.3", "3.6.16", "3.6.16 comes before 3.7.3: a downgrade is not an upgrade, and databases may refuse the data of later releases"},
		{"3.7.0", "3.7.0-rc.1", "3.7.0-rc.1 comes before 3.7.0: a downgrade is not an upgrade, and databases may refuse the data of later releases"},
		{"3.5.4", "3.7.3", "an upgrade from 3.5.4 to 3.7.3 skips releases: go to 3.6 first"},
		{"3.6.1", "4.0.0", "an upgrade from 3.6.1 to 4.0.0 skips releases: go to 3.7 first"},
		{"3.6.1", "3.7", `an upgrade needs versions in full, such as 3.6.16, got "3.6.1" and "3.7"`},
		{"main", "3.7.1", `an upgrade needs versions in full, such as 3.6.16, got "main" and "3.7.1"`},
	} {
		got := ""
		if err := database.CheckUpgrade(tt.from, tt.to); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("from %s to %s: %q, want %q", tt.from, tt.to, got, tt.want)
		}
	}
}
