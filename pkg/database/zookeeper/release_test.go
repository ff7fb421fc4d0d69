package zookeeper

import (
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/install/recipe"
)

func TestRecipes(t *testing.T) {
	tests := []struct {
		version string
		kinds   string
		jars    []string // parts of the pom
		lacks   string
		sums    bool
	}{
		{"3.9.5", "archive maven", []string{"snappy-java", "metrics-core", "<version>1.3.15<", "jetty-servlet"}, "{admin}", true},
		{"v3.8.6", "archive maven", []string{"snappy-java", "<version>1.3.15<"}, "jetty", false},
		{"3.7.2", "archive maven", []string{"snappy-java", "<version>1.2.13<"}, "{logback}", false},
		{"3.5.10", "archive maven", []string{"<version>1.2.13<"}, "{logback}", false},
		{"3.5.9", "archive maven", nil, "logback", false},
		{"3.5.3-beta", "maven", nil, "logback", false},
		{"3.4.14", "maven", nil, "logback", true},
	}
	for _, tt := range tests {
		t.Run(tt.version, func(t *testing.T) {
			recipes, err := New().Recipes(tt.version)
			if err != nil {
				t.Fatalf("list the recipes: %v", err)
			}
			var kinds []string
			for _, r := range recipes {
				kinds = append(kinds, r.Kind())
			}
			if got := strings.Join(kinds, " "); got != tt.kinds {
				t.Errorf("recipes: %s, want %s", got, tt.kinds)
			}
			jars := recipes[len(recipes)-1].(recipe.Maven)
			if (jars.Sums != "") != tt.sums {
				t.Errorf("checksums: %q", jars.Sums)
			}
			for _, part := range append(tt.jars, "<version>{version}<") {
				if !strings.Contains(jars.POM, part) {
					t.Errorf("the pom lacks %q", part)
				}
			}
			if strings.Contains(jars.POM, tt.lacks) {
				t.Errorf("the pom has %q", tt.lacks)
			}
		})
	}
	for _, version := range []string{"", "3", "3.3.6", "r3.5.3-beta", "3.9.5/../x", "latest"} {
		if recipes, err := New().Recipes(version); err == nil {
			t.Errorf("version %q has recipes %v", version, recipes)
		}
	}
}
