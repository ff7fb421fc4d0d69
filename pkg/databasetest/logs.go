package databasetest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/results/logrule"
)

// logLines compares the events that driver rules find in server logs, testdata/logs/VERSION.log,
// with golden files next to them. Every rule must be usable and state the meaning of its event.
func logLines(t *testing.T, f *fixture, m database.Member) {
	plan, err := f.suite.Database.New().Plan(m)
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	rules, err := logrule.Compile(plan.LogRules, plan.LogTimes)
	if err != nil {
		t.Error(err)
	}
	for _, rule := range plan.LogRules {
		if rule.Help == "" {
			t.Errorf("log rule %q must state what its event means", rule.Event)
		}
	}
	logs, err := filepath.Glob("testdata/logs/*.log")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range logs {
		log, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var found bytes.Buffer
		matched := map[int64]bool{}
		err = rules.Scan(bytes.NewReader(log), 2026, func(l *logrule.Line) error {
			matched[l.Number] = true
			fmt.Fprintf(&found, "%d %s: %s", l.Number, l.Time.Format("2006-01-02T15:04:05.000000Z"), l.Event)
			if l.Duration > 0 {
				fmt.Fprintf(&found, ", took %v", l.Duration)
			}
			if l.Unit != "" {
				fmt.Fprintf(&found, ", %.0f %s", l.Amount, l.Unit)
			}
			found.WriteByte('\n')
			return nil
		})
		if err != nil {
			t.Errorf("scan %s: %v", path, err)
		}
		if lines := bytes.Count(log, []byte("\n")); len(matched) != lines {
			t.Errorf("%s: %d of %d lines match a rule, want all", path, len(matched), lines)
		}
		Golden(t, path[:len(path)-len(".log")]+".events", found.Bytes())
	}
}
