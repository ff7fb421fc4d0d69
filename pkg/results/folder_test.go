package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/workload"
)

func TestCreateNeverReuses(t *testing.T) {
	base := t.TempDir()
	zone := time.FixedZone("", 3600)
	for _, want := range []string{"20261121T080000Z-t1", "20261121T080000Z-t1-2", "20261121T080000Z-t1-3"} {
		f, err := Create(base, "Write 1M keys, 256-byte key!", epoch.In(zone), "-t1")
		check(t, err)
		if want := filepath.Join(base, "write-1m-keys-256-byte-key", want); f.Dir() != want {
			t.Errorf("made %s, not %s", f.Dir(), want)
		}
		info, err := os.Stat(f.Dir())
		check(t, err)
		if info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v", info.Mode())
		}
	}
}

func TestSlug(t *testing.T) {
	for title, want := range map[string]string{
		"":                                "untitled",
		"../../etc":                       "etc",
		"读 写":                             "untitled",
		"etcd v3.6 vs. ZooKeeper":         "etcd-v3.6-vs-zookeeper",
		strings.Repeat("long title ", 20): "long-title-long-title-long-title-long-title-long-title-long-title-long-title-lon",
	} {
		if got := slug(title); got != want {
			t.Errorf("slug(%q) = %q, want %q", title, got, want)
		}
	}
}

func TestManifestRoundTrip(t *testing.T) {
	f, err := Create(t.TempDir(), "t", epoch, "")
	check(t, err)
	if _, err := Open(f.Dir()); err == nil {
		t.Error("opened a folder without a manifest")
	}
	want := &Manifest{
		State: StateRunning, Title: "t", Started: epoch, Seed: 1<<64 - 1, Config: json.RawMessage(`{"title":"t"}`),
		SelfCheck: selfCheck(),
		Databases: []*DatabaseRun{{
			ID: "etcd", Tag: "etcd", Load: Load{Load: workload.Load{Limits: workload.Limits{WarmUp: time.Second}, Pace: workload.Pace{Rate: 1000, RateEnd: 5000}}}, Members: []Member{{Disk: &Disk{ApparentBytes: 7}}},
			Steps: []Step{{Step: workload.Step{Clients: 8, Rate: 1000, RateEnd: 5000}}},
		}},
	}
	check(t, f.WriteManifest(want))
	want.State = StateComplete
	check(t, f.WriteManifest(want))
	f, err = Open(f.Dir())
	check(t, err)
	got, err := f.Manifest()
	check(t, err)
	if want.Format != 0 {
		t.Error("the caller's manifest was changed")
	}
	want.Format = FormatVersion
	var config any
	check(t, json.Unmarshal(got.Config, &config))
	got.Config = want.Config
	diff(t, "manifest", want, got)
	entries, err := os.ReadDir(f.Dir())
	check(t, err)
	if len(entries) != 1 {
		t.Errorf("temporary files were left: %v", entries)
	}
	info, err := os.Stat(f.Path(FileManifest))
	check(t, err)
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestManifestOfAnotherFormat(t *testing.T) {
	f, err := Create(t.TempDir(), "t", epoch, "")
	check(t, err)
	for content, want := range map[string]string{
		`{"format": 3, "started": {"new": "shape"}}`: "format 3 is newer than this program's 2",
		`{}`:            "not a manifest",
		`{"format": 1,`: "unexpected end",
	} {
		mustWrite(t, f.Path(FileManifest), content)
		if _, err := f.Manifest(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), f.Path(FileManifest)) {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func TestMakeTag(t *testing.T) {
	f, err := Create(t.TempDir(), "t", epoch, "")
	check(t, err)
	dir, err := f.MakeTag("etcd-v3.6.16")
	check(t, err)
	if dir != f.Path("etcd-v3.6.16") {
		t.Errorf("made %s", dir)
	}
	for _, tag := range []string{"", ".", "..", "a/b", `a\b`, "/a", DirReport, FileManifest} {
		if dir, err := f.MakeTag(tag); err == nil {
			t.Errorf("tag %q made %s", tag, dir)
		}
	}
}
