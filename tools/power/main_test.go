package main

import (
	"strings"
	"testing"
)

// An unexpected loss and a missing expected loss are errors; so is a series without cases.
func TestJudge(t *testing.T) {
	good := []*series{{version: old, fault: "power", cases: 20, lossy: 9, lost: []int64{20}}, {version: old, fault: "kill", cases: 20}, {version: "3.7.3", fault: "power", cases: 20}}
	if err := judge(good); err != nil {
		t.Error(err)
	}
	var table strings.Builder
	report(&table, good)
	if want := "| 3.5.4 | power | 9 of 20 | 23 to 68 % | 20 | 0 |"; !strings.Contains(table.String(), want) {
		t.Errorf("the table has no row %q:\n%s", want, table.String())
	}
	bad := []*series{{version: old, fault: "power", cases: 20}, {version: old, fault: "kill", cases: 20, lossy: 1}, {version: "3.7.3", fault: "power"}}
	if err := judge(bad); err == nil || strings.Count(err.Error(), "etcd ") != 3 {
		t.Errorf("errors %v, want three", err)
	}
}
