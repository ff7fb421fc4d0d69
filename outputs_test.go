package dbtester_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester"
)

const classicFile = `test_title: library
test_description: |
  one etcd
config_client_machine_initial:
  path_prefix: DIR
  server_disk_space_usage_summary_path: disk/summary.csv
  google_cloud_storage_bucket_name: file://DIR/bucket
all_database_id_list: [etcd__v3_3]
datatbase_id_to_config_client_machine_agent_control:
  etcd__v3_3:
    database_description: etcd v3.3.0 (Go 1.9.3)
    peer_ips: [127.0.61.1, 127.0.61.2]
    database_port_to_connect: 2379
    agent_port_to_connect: 3500
    etcd__v3_3: {snap_count: 100000}
    benchmark_options: {type: write, request_number: 100, connection_number: 1, client_number: 1, key_size_bytes: 16, value_size_bytes: 16}
    benchmark_steps: {step1_start_database: true, step2_stress_database: true, step3_stop_database: true, step4_upload_logs: true}
analyze_readme:
  output_path: DIR/report/README.md
  images: [{title: Latency, path: DIR/report/AVG-LATENCY-MS.svg, type: local}]
`

// readClassic reads a classic file for two members, with outputs in dir.
func readClassic(t *testing.T) (c *dbtester.Config, dir string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(dir, "classic.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(classicFile, "DIR", dir)), 0o600); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	c, err := dbtester.ReadConfig(file)
	if err != nil {
		t.Fatalf("read the experiment: %v", err)
	}
	return c, dir
}

// wantFile compares a file with its expected content.
func wantFile(t *testing.T, path, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || string(text) != want {
		t.Errorf("%s holds %q (%v), want %q", path, text, err, want)
	}
}

func TestSaveDiskSpaceUsageSummary(t *testing.T) {
	t.Parallel()
	c, dir := readClassic(t)
	responses := map[int]dbtester.Response{
		1: {Endpoint: "127.0.61.2:2379", DiskSpaceUsageBytes: -1},
		0: {Success: true, Endpoint: "127.0.61.1:2379", DiskSpaceUsageBytes: 265884848},
	}
	if err := c.SaveDiskSpaceUsageSummary("etcd__v3_3", responses); err != nil {
		t.Fatalf("save the disk usage: %v", err)
	}
	wantFile(t, filepath.Join(dir, "disk", "summary.csv"),
		"INDEX,DATABASE-ENDPOINT,DISK-SPACE-USAGE,DISK-SPACE-USAGE-BYTES-NUM\n0,127.0.61.1:2379,266 MB,265884848\n1,127.0.61.2:2379,,\n")
	other := readOwn(t, "databases: {fake: {}}")
	if err := other.SaveDiskSpaceUsageSummary("fake", responses); err == nil || !strings.Contains(err.Error(), "names no path") {
		t.Errorf("without any path the error is %v, want that there is none", err)
	}
}

func TestWriteREADME(t *testing.T) {
	t.Parallel()
	c, dir := readClassic(t)
	if err := c.WriteREADME("| a table |"); err != nil {
		t.Fatalf("write the README: %v", err)
	}
	wantFile(t, filepath.Join(dir, "report", "README.md"),
		"\n\n<br><br><hr>\n##### library\n\none etcd\n\n```\n| a table |\n```\n\n\n![Latency](./AVG-LATENCY-MS.svg)\n")
	if err := readOwn(t, "databases: {fake: {}}").WriteREADME("text"); err == nil || !strings.Contains(err.Error(), "names none") {
		t.Errorf("a file without a README has the error %v, want that it names none", err)
	}
}

func TestUploadToGoogle(t *testing.T) {
	t.Parallel()
	c, dir := readClassic(t)
	if err := os.Mkdir(filepath.Join(dir, "bucket"), 0o755); err != nil {
		t.Fatalf("make the bucket: %v", err)
	}
	tag := dbtester.MakeTag("etcd v3.3.0 (Go 1.9.3)")
	for _, name := range []string{"client-control.log", tag + "-database.log"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatalf("write a log: %v", err)
		}
		if err := c.UploadToGoogle(t.Context(), "etcd__v3_3", path); err != nil {
			t.Fatalf("upload %s: %v", name, err)
		}
	}
	wantFile(t, filepath.Join(dir, "bucket", tag+"-client-control.log"), "client-control.log")
	wantFile(t, filepath.Join(dir, "bucket", tag+"-database.log"), tag+"-database.log")
	if err := readOwn(t, "databases: {fake: {}}").UploadToGoogle(t.Context(), "fake", dir); err == nil || !strings.Contains(err.Error(), "names no place") {
		t.Errorf("without a place the error is %v, want that there is none", err)
	}
}
