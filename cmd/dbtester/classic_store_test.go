package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/remotestorage/storagetest"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// classicTwo writes a file with two databases in the classic layout: control writes below one path,
// the bucket has a folder, and analyze reads the uploaded names.
func (p place) classicTwo(hosts []string, bucket string) {
	p.t.Helper()
	var b strings.Builder
	b.WriteString("test_title: Two\ntest_description: two versions\nconfig_client_machine_initial:\n  path_prefix: home\n  log_path: client-control.log\n")
	files := []string{
		"client_system_metrics_interpolated_path: client-system-metrics-interpolated.csv", "client_latency_throughput_timeseries_path: client-latency-throughput-timeseries.csv",
		"client_latency_distribution_all_path: client-latency-distribution-all.csv", "client_latency_distribution_percentile_path: client-latency-distribution-percentile.csv",
		"client_latency_distribution_summary_path: client-latency-distribution-summary.csv", "client_latency_by_key_number_path: client-latency-by-key-number.csv",
		"server_disk_space_usage_summary_path: server-disk-space-usage-summary.csv",
	}
	line := func(indent int, text string) { b.WriteString(strings.Repeat(" ", indent) + text + "\n") }
	line(2, "client_system_metrics_path: client-system-metrics.csv")
	for _, f := range files {
		line(2, f)
	}
	upload := "false"
	if bucket != "" {
		upload = "true"
		line(2, "google_cloud_project_name: some-project")
		line(2, "google_cloud_storage_bucket_name: "+bucket)
		line(2, "google_cloud_storage_sub_directory: 2018Q1/write")
	}
	line(0, "all_database_id_list: [etcd__v3_2, etcd__v3_3]")
	ids := [][2]string{{"etcd__v3_2", "etcd v3.2.0 (Go 1.8.3)"}, {"etcd__v3_3", "etcd v3.3.0 (Go 1.9.3)"}}
	line(0, "datatbase_id_to_config_client_machine_agent_control:")
	for _, id := range ids {
		line(2, id[0]+":")
		line(4, "database_description: "+id[1])
		line(4, "peer_ips: ["+strings.Join(hosts[:1], ", ")+"]")
		line(4, id[0]+": {snap_count: 100000, quota_size_bytes: 8000000000}")
		line(4, "benchmark_options: {type: write, request_number: 400, connection_number: 2, client_number: 4, key_size_bytes: 16, value_size_bytes: 32}")
		line(4, "benchmark_steps: {step1_start_database: true, step2_stress_database: true, step3_stop_database: true, step4_upload_logs: "+upload+"}")
	}
	line(0, "datatbase_id_to_config_analyze_machine_initial:")
	for i, id := range ids {
		line(2, id[0]+":")
		line(4, "path_prefix: 2018Q1/write/"+classicTags[i])
		for _, f := range files {
			line(4, f)
		}
		line(4, "server_system_metrics_interpolated_path_list: [1-server-system-metrics-interpolated.csv]")
		line(4, "all_aggregated_output_path: all-aggregated.csv")
	}
	line(0, "analyze_all_aggregated_output: {all_aggregated_output_path_csv: 2018Q1/write/all-aggregated.csv, all_aggregated_output_path_txt: 2018Q1/write/all-aggregated.txt}")
	line(0, "analyze_plot_path_prefix: 2018Q1/write")
	line(0, "analyze_plot_list: [{column: AVG-THROUGHPUT, x_axis: Second, y_axis: Throughput}]")
	line(0, "analyze_readme: {output_path: 2018Q1/write/README.md, images: [{title: t, path: 'https://storage.googleapis.com/results/2018Q1/write/AVG-THROUGHPUT.svg', type: remote}]}")
	if err := os.WriteFile(p.path("classic.yaml"), []byte(b.String()), 0o644); err != nil {
		p.t.Fatalf("write the file: %v", err)
	}
}

var classicTags = []string{"etcd-v3.2.0-go1.8.3", "etcd-v3.3.0-go1.9.3"}

// classicRows is a table for both databases.
var classicRows = []string{` TOTAL-REQUEST-NUMBER \| +400 \| +400 `, ` VERSION \| +3\.7\.3 \| +3\.7\.3 `, ` KEYS-FOUND \| +400 / 400 ok \| +400 / 400 ok `}

// A classic file with several databases runs from control to analyze without an upload. Uploaded
// later, its files have the classic names, and analyze reads them there.
func TestClassicFromEndToEnd(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	e := storagetest.GCS(t)
	p := newPlace(t)
	p.classicTwo(freeHosts(t), e.Bucket)
	with := func(args ...string) *command {
		return p.launch("env", append([]string{"STORAGE_EMULATOR_HOST=" + e.Env["STORAGE_EMULATOR_HOST"], "dbtester"}, args...)...)
	}
	c := p.start("control", "--local", "--no-upload", "--results", p.path("results"), "--config", "classic.yaml")
	c.exits(exitDone, patience)
	wantText(t, "progress", c.err.String(), `files are copied to home when the run ends, such as etcd-v3\.2\.0-go1\.8\.3-client-`)
	if got := objects(t, p, e); len(got) > 0 {
		t.Errorf("with --no-upload nothing is sent, got %q", got)
	}
	runs := p.runs()
	if len(runs) != 1 {
		t.Fatalf("%d result folders, want 1", len(runs))
	}
	c = with("upload", runs[0].Dir(), e.URL("2018Q1/write"))
	c.exits(exitDone, patience)
	wantText(t, "progress of the upload alone", c.err.String(), `uploaded the classic files to gs://results/2018Q1/write, such as etcd-v3\.2\.0-go1\.8\.3-[a-z0-9-]+\.`)

	// The same file reads the files that control left on this machine.
	c = p.start("analyze", "--all", "--config", "classic.yaml")
	c.exits(exitDone, patience)
	wantText(t, "table of local files", c.out.String(), classicRows...)
	wantFiles(t, p.path(), "2018Q1/write/README.md", "2018Q1/write/AVG-THROUGHPUT.svg", "2018Q1/write/etcd-v3.2.0-go1.8.3-all-aggregated.csv",
		"home/etcd-v3.2.0-go1.8.3-client-system-metrics.csv", "home/etcd-v3.3.0-go1.9.3-client-latency-distribution-summary.csv")
	local := c.out.String()

	// Elsewhere it reads the files in the bucket, and reports that.
	p.remove("2018Q1")
	p.remove("home")
	c = with("analyze", "--max-bytes", "100", "--config", "classic.yaml", "--out", "bounded")
	c.exits(exitFailed, patience)
	wantText(t, "refusal", c.err.String(), `fetch the inputs of etcd-v3\.2\.0-go1\.8\.3 from gs://results/2018Q1/write: too large: its objects have more than 100 bytes.*--max-bytes allow larger runs`)
	c = with("analyze", "--all", "--config", "classic.yaml", "--upload", e.URL("2018Q1/write"))
	c.exits(exitDone, patience)
	wantText(t, "progress", c.err.String(), `downloaded the inputs of etcd-v3\.3\.0-go1\.9\.3 from gs://results/2018Q1/write: [0-9]+ files`)
	table, _, _ := strings.Cut(c.out.String(), "uploaded the report")
	if diff := cmp.Diff(local, table); diff != "" {
		t.Errorf("the table from the bucket must be that of local files (-local +bucket):\n%s", diff)
	}
	var names []string
	for _, o := range objects(t, p, e) {
		if !strings.HasPrefix(o, "two/") && !strings.HasPrefix(o, "Two/") {
			names = append(names, o)
		}
	}
	for _, want := range slices.Concat(classicObjects(classicTags[0]), classicObjects(classicTags[1]), []string{"AVG-THROUGHPUT.svg", "README.md", "all-aggregated.csv"}) {
		if !slices.Contains(names, want) {
			t.Errorf("the bucket has no %s; it has %q", want, names)
		}
	}
}

// classicObjects are the names of the objects of one database.
func classicObjects(tag string) (names []string) {
	for _, name := range []string{
		"client-control.log", "client-system-metrics.csv", "client-system-metrics-interpolated.csv", "client-latency-throughput-timeseries.csv",
		"client-latency-distribution-all.csv", "client-latency-distribution-percentile.csv", "client-latency-distribution-summary.csv",
		"client-latency-by-key-number.csv", "server-disk-space-usage-summary.csv", "1-server-system-metrics.csv",
		"1-server-system-metrics-interpolated.csv", "1-etcd.log", "1-agent.log",
	} {
		names = append(names, tag+"-"+name)
	}
	return names
}

// objects lists the bucket objects below 2018Q1/write.
func objects(t *testing.T, p place, e *storagetest.Emulator) (names []string) {
	t.Helper()
	reply := e.Get(t, "/storage/v1/b/"+e.Bucket+"/o?maxResults=1000")
	for _, m := range regexp.MustCompile(`"name": ?"2018Q1/write/([^"]*)"`).FindAllStringSubmatch(reply, -1) {
		names = append(names, m[1])
	}
	return names
}

// With a folder instead of a bucket, the same file also works.
func TestClassicWithoutBucket(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	p := newPlace(t)
	bucket := p.path("bucket", "2018Q1", "write")
	if err := os.MkdirAll(bucket, 0o755); err != nil {
		t.Fatal(err)
	}
	p.classicTwo(freeHosts(t), "file://"+p.path("bucket"))
	c := p.start("control", "--local", "--results", p.path("results"), "--config", "classic.yaml")
	c.exits(exitDone, patience)
	p.remove("2018Q1")
	c = p.start("analyze", "--all", "--config", "classic.yaml", "--out", "from-folder")
	c.exits(exitDone, patience)
	wantText(t, "table from the folder", c.out.String(), classicRows...)
	wantText(t, "control's log", readText(t, filepath.Join(bucket, classicTags[0]+"-client-control.log")),
		`(?m)^20[0-9-]+T[0-9:.]+Z wait for a quorum$`, `load: step 1, clients 4, done [0-9]+`, `(?m)Z the run is complete$`, `(?m)Z shared host: `)
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func wantFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
