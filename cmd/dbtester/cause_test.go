package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestCause slows the disk of a member during the step with the most clients: the report names its
// syncs or, on a busy machine, nothing else but processors.
func TestCause(t *testing.T) {
	notShort(t)
	t.Parallel()
	p := newPlace(t)
	file := p.experiment("cause", freeHosts(t)[:1], "{operation: write, warm_up: 500ms, cool_down: 500ms, key_size: 16, value_size: 32, timeout: 5s, steps: [{clients: 1, duration: 3s}, {clients: 3, duration: 6s}, {clients: 2, duration: 4s}]}")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the experiment: %v", err)
	}
	text = append(text, "probe: 0s\nfaults:\n- {kind: disk, member: 1, at: 2s, for: 7500ms, fsync: 40ms}\n"...)
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	c := p.start("control", "--local", "--config", file, "--format", "json")
	eventually(t, "the run ends", func() bool {
		select {
		case <-c.ended:
			return true
		default:
			return false
		}
	})
	if code := c.cmd.ProcessState.ExitCode(); code != exitDone && code != exitInvalid { // a busy machine may not recover
		t.Fatalf("exit code %d:\n%s", code, c.err)
	}
	var report struct {
		Headline struct {
			Why *struct {
				Databases []struct {
					Step, Verdict string
					Causes        []struct{ Name string }
				}
			}
		}
		Table struct {
			Rows []struct {
				Name  string
				Cells []struct {
					ByStep []struct{ Label, Text string } `json:"by_step"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(c.out.String()), &report); err != nil {
		t.Fatalf("decode the report: %v\n%.1000s", err, c.out)
	}
	why := report.Headline.Why
	if why == nil || len(why.Databases) != 1 || why.Databases[0].Step != "3 clients" {
		t.Fatalf("the report must explain the step with the most clients, got %+v", why)
	}
	t.Logf("%+v", why.Databases[0])
	for _, cause := range why.Databases[0].Causes {
		if cause.Name != "fsync" && cause.Name != "processors" {
			t.Errorf("%q is named, of a slow disk", cause.Name)
		}
	}
	found := ""
	for _, row := range report.Table.Rows {
		if row.Name == "BOTTLENECK" && len(row.Cells) == 1 {
			found = fmt.Sprint(row.Cells[0].ByStep)
		}
	}
	if !strings.Contains(found, "syncs of the leader's log") {
		t.Errorf("the row must have the syncs, got %q", found)
	}
	t.Log(found)
}
