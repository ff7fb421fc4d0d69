package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// A failed upload after a run names the command that repeats only the upload, and the words in it
// survive a shell.
func TestFailedUploadNamesItsRepair(t *testing.T) {
	slowtest.Skip(t)
	run := filepath.Join(t.TempDir(), "a title", "20260102T150405Z")
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatalf("make a result folder: %v", err)
	}
	for name, data := range map[string]string{"manifest.json": "{}", "etcd": "a file in place of the folder"} {
		if err := os.WriteFile(filepath.Join(run, name), []byte(data), 0o644); err != nil {
			t.Fatalf("write a record: %v", err)
		}
	}
	bucket := t.TempDir()
	for name, tt := range map[string]struct {
		to     config.Upload
		before func(t *testing.T)
		want   string
	}{
		"no bucket": {
			config.Upload{URL: "file://" + bucket + "/absent", KeyFile: "key.json"}, func(*testing.T) {},
			"upload them with: dbtester upload --key-file key.json '" + run + "' file://" + bucket + "/absent",
		},
		"in the middle": {
			config.Upload{URL: "file://" + bucket}, func(t *testing.T) {
				if err := os.MkdirAll(filepath.Join(bucket, "a title", "20260102T150405Z", "manifest.json", "in the way"), 0o755); err != nil {
					t.Fatalf("put a folder in the way: %v", err)
				}
			},
			"1 of 2 files are in file://" + bucket + "/a title/20260102T150405Z; send the others with: dbtester upload '" + run + "' file://" + bucket,
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.before(t)
			err := uploadRun(t.Context(), run, tt.to, func(string) {})
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got %v\nwant it to end with %s", err, tt.want)
			}
		})
	}
}
