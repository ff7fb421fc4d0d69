package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// The file for perfdash has the numbers in numbers.csv, separately for each trial.
func TestPerfdash(t *testing.T) {
	runs := recordedRuns(t, "a", 2, 2*time.Millisecond, nil)
	printed := func(format string) []byte {
		var out, errw bytes.Buffer
		if code := run(append([]string{"analyze", "--out", t.TempDir(), "--format", format}, runs...), strings.NewReader(""), &out, &errw); code != exitDone {
			t.Fatalf("--format %s: exit code %d: %s", format, code, errw.String())
		}
		return out.Bytes()
	}
	var got perfData
	if err := json.Unmarshal(printed(formatPerfdash), &got); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(printed(formatCSV))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{} // how often a value is in numbers.csv
	for _, row := range rows {
		if name, known := perfMetrics()[row[5]]; known {
			want[name[0]+" "+name[1]+" "+row[6]+" "+row[7]]++
		}
	}
	if got.Version != "v1" || len(want) == 0 {
		t.Errorf("version %q, and %d numbers are expected", got.Version, len(want))
	}
	for _, item := range got.Items {
		if item.Labels["Database"] == "" {
			t.Errorf("an item without a database: %+v", item)
		}
		for name, value := range item.Data {
			text, _ := json.Marshal(value)
			want[item.Labels["Metric"]+" "+name+" "+item.Unit+" "+string(text)]--
		}
	}
	for what, n := range want {
		if n != 0 {
			t.Errorf("%s: %d more in numbers.csv than for perfdash", what, n)
		}
	}
}
