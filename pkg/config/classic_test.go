package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/coreos/dbtester/pkg/config/classic"
	"github.com/coreos/dbtester/pkg/workload"
)

// classicConfigs is the folder for the files shipped with the classic tool, which are not in this
// repository.
func classicConfigs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "classic", "configs")
	if classic := os.Getenv("DBTESTER_CLASSIC_DIR"); classic != "" {
		dir = filepath.Join(classic, "configs")
	}
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("the classic files are not here; set DBTESTER_CLASSIC_DIR")
		}
		t.Skip("the classic files are not here; set DBTESTER_CLASSIC_DIR")
	}
	return dir
}

// TestClassicShippedFiles loads the classic tool's files unchanged.
func TestClassicShippedFiles(t *testing.T) {
	type column struct {
		Tag, Version, Operation, Read string
		Clients, Connections, Steps   int
		Requests                      int64
		Rate                          float64
		SameKey                       bool
	}
	etcd2 := column{Tag: "etcd-v3.2.0-go1.8.3", Version: "v3.2.0"}
	etcd3 := column{Tag: "etcd-v3.3.0-go1.9.3", Version: "v3.3.0"}
	zoo := column{Tag: "zookeeper-r3.5.3-beta-java8", Version: "r3.5.3-beta"}
	consul := column{Tag: "consul-v1.0.2-go1.9.3", Version: "v1.0.2"}
	write := func(c column, requests int64, clients, connections, steps int, rate float64) column {
		c.Operation, c.Requests, c.Clients, c.Connections, c.Steps, c.Rate = "write", requests, clients, connections, steps, rate
		return c
	}
	read := func(c column, clients int, mode string) column {
		c.Operation, c.Read, c.SameKey, c.Requests, c.Clients, c.Connections = "read", mode, true, 3_000_000, clients, clients
		return c
	}
	dir := classicConfigs(t)
	for file, want := range map[string][]column{
		"write-1M-keys-best-throughput.yaml": {
			write(etcd3, 1e6, 1000, 100, 0, 0), write(zoo, 1e6, 700, 700, 0, 0), write(consul, 1e6, 500, 500, 0, 0)},
		"write-1M-keys-1000QPS.yaml": {
			write(etcd2, 1e6, 100, 100, 0, 1000), write(etcd3, 1e6, 100, 100, 0, 1000),
			write(zoo, 1e6, 100, 100, 0, 1000), write(consul, 1e6, 100, 100, 0, 1000)},
		"write-1M-keys-client-variable.yaml": {
			write(etcd2, 1e6, 1000, 1000, 8, 0), write(etcd3, 1e6, 1000, 1000, 8, 0),
			write(zoo, 1e6, 1000, 1000, 8, 0), write(consul, 1e6, 1000, 1000, 8, 0)},
		"write-100K-keys-1-client.yaml": {write(etcd3, 1e5, 1, 1, 0, 0), write(zoo, 1e5, 1, 1, 0, 0)},
		"read-3M-same-keys-best-throughput.yaml": {
			read(etcd2, 1000, "linearizable"), read(etcd3, 1000, "linearizable"), read(zoo, 700, "sync+get"), read(consul, 500, "linearizable")},
	} {
		t.Run(file, func(t *testing.T) {
			e, warnings, err := Read(filepath.Join(dir, file), testCatalog())
			if err != nil {
				t.Fatalf("read the experiment: %v", err)
			}
			for _, w := range warnings {
				if !strings.Contains(w.Text, "gcp-key") {
					t.Errorf("unexpected %s", w)
				}
			}
			var got []column
			for _, d := range e.Databases {
				got = append(got, column{d.Tag, d.Version, string(d.Load.Operation), string(d.Load.Read), d.Load.Clients, d.Load.Connections,
					len(d.Load.Steps), d.Load.Requests, d.Load.Rate, d.Load.SameKey})
				if len(e.Inputs[d.Tag].Files) != 7 || len(e.Inputs[d.Tag].Servers) != 3 || len(e.Inputs[d.Tag].Outputs) != 4 {
					t.Errorf("%s's inputs: %+v", d.Tag, e.Inputs[d.Tag])
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("databases (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(DefaultPlots(), e.Plots); diff != "" {
				t.Errorf("plots differ from the classic fifteen (-want +got):\n%s", diff)
			}
			if !e.Classic || len(e.Export) != 8 || len(e.Report.Images) != 19 {
				t.Errorf("classic %v, %d exports, %d images", e.Classic, len(e.Export), len(e.Report.Images))
			}
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Fatalf("read the file: %v", err)
			}
			wantSameAgain(t, file, data)
		})
	}
}

const classicFileForTest = `test_title: Write keys
test_description: |
  some machines
config_client_machine_initial:
  path_prefix: /home/user
  log_path: client-control.log
  client_system_metrics_path: client-system-metrics.csv
  server_disk_space_usage_summary_path: disk.csv
  google_cloud_project_name: project
  google_cloud_storage_key_path: /does/not/exist.json
  google_cloud_storage_bucket_name: bucket
  google_cloud_storage_sub_directory: 2018/write
all_database_id_list: [zookeeper__r3_4_9, etcd__other]
datatbase_id_to_config_client_machine_agent_control:
  etcd__other:
    database_description: etcd tip (Go 1.10)
    database_tag: overwritten
    peer_ips: [10.0.0.1, 10.0.0.2]
    database_port_to_connect: 12379
    etcd__other: {snap_count: 5000, quota_size_bytes: 0}
    benchmark_options:
      type: read
      request_number: 10
      connection_number: 1
      client_number: 2
      same_key: no
      key_size_bytes: 8
      value_size_bytes: 16
      stale_read: YES
    benchmark_steps: {step1_start_database: on, step2_stress_database: y, step3_stop_database: off}
  zookeeper__r3_4_9:
    database_description: Zookeeper (Java 8)
    peer_ips: [10.0.0.3]
    agent_port_to_connect: 3600
    database_port_to_connect: 0
    zookeeper__r3_4_9: {java_xmx: 5G, tick_tiem: 3}
    benchmark_options:
      type: write
      request_number: 100
      connection_number: 9
      client_number: 9
      connection_client_numbers: [1, 2]
      rate_limit_requests_per_second: 7
      key_size_bytes: 8
      value_size_bytes: 16
    benchmark_steps: {step2_stress_database: true, step4_upload_logs: true}
datatbase_id_to_config_analyze_machine_initial:
  etcd__other:
    path_prefix: results/etcd
    client_latency_by_key_number_path: by-key.csv
    server_system_metrics_interpolated_path_list: [1-server.csv]
    all_aggregated_output_path: all.csv
  zookeeper__r3_4_9:
    client_latency_by_key_number_path: zk-by-key.csv
analyze_all_aggregated_output:
  all_aggregated_output_path_csv: results/all.csv
  all_aggregated_output_path_txt: results/all.text
analyze_plot_path_prefix: results
analyze_plot_list:
- {column: AVG-WRITE-BYTES-DELTA, x_axis: Second, y_axis: Bytes, output_path_csv: x}
analyze_readme:
  output_path: results/README.md
  images:
  - {title: t, path: p.svg, type: remote}
`

func TestClassicFile(t *testing.T) {
	e, warnings, err := Parse("c.yaml", []byte(classicFileForTest), testCatalog())
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.String())
	}
	wantWarnings := []string{
		`c.yaml:10:34: warning: google_cloud_storage_key_path: "/does/not/exist.json" does not exist here; the upload will need it`,
		`c.yaml:17:19: warning: database_tag of etcd__other is ignored: it follows from other keys`,
		`c.yaml:26:17: warning: same_key is ignored: classic reads always go to one key`,
		`c.yaml:36:39: warning: zookeeper__r3_4_9: "tick_tiem" is ignored: this database has no such option (did you mean "tick_time"?)`,
		`c.yaml:60:12: warning: column: "AVG-WRITE-BYTES-DELTA" is read as "AVG-WRITE-BYTES-NUM-DELTA"`,
		`c.yaml:60:83: warning: output_path_csv is ignored: plots are named after their column`,
	}
	if diff := cmp.Diff(wantWarnings, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	zoo, etcd := e.Databases[0], e.Databases[1]
	if zoo.ID != "zookeeper__r3_4_9" || zoo.Version != "r3.4.9" || zoo.Tag != "zookeeper-java8" || etcd.Version != "" || etcd.Tag != "etcd-tip-go1.10" {
		t.Errorf("names: %q %q %q, %q %q", zoo.ID, zoo.Version, zoo.Tag, etcd.Version, etcd.Tag)
	}
	wantHosts := []Host{{Addr: "10.0.0.1", AgentPort: 3500, Ports: map[string]int{"client": 12379, "peer": 2380}}, {Addr: "10.0.0.2", AgentPort: 3500, Ports: map[string]int{"client": 12379, "peer": 2380}}}
	if diff := cmp.Diff(wantHosts, etcd.Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if h := zoo.Hosts[0]; h.AgentPort != 3600 || h.Ports["client"] != 2181 {
		t.Errorf("zookeeper's host: %+v", h)
	}
	if o := etcd.Options.(*etcdOptions); o.SnapshotCount != 5000 || o.QuotaBackendBytes != 8_000_000_000 {
		t.Errorf("etcd's options: %+v", o)
	}
	if o := zoo.Options.(*zooOptions); o.Heap.Xmx != "5G" || o.TickTime != 2000 {
		t.Errorf("zookeeper's options: %+v", o)
	}
	if l := etcd.Load; l.Read != "stale" || !l.SameKey || l.Connections != 1 || l.Clients != 2 || l.Operation != "read" {
		t.Errorf("etcd's load: %+v", l)
	}
	wantSteps := []workload.Step{{Clients: 1, Connections: 1, Requests: 50, Rate: 7}, {Clients: 2, Connections: 2, Requests: 50, Rate: 7}}
	if diff := cmp.Diff(wantSteps, zoo.Load.Steps); diff != "" {
		t.Errorf("zookeeper's steps (-want +got):\n%s", diff)
	}
	if etcd.Steps != (Steps{Start: true, Load: true}) || zoo.Steps != (Steps{Load: true, Upload: true}) || e.Steps != (Steps{Start: true, Load: true, Upload: true}) {
		t.Errorf("steps: %+v, %+v, %+v", etcd.Steps, zoo.Steps, e.Steps)
	}
	if diff := cmp.Diff(map[string]string{
		"client-system-metrics.csv":           "/home/user/client-system-metrics.csv",
		"server-disk-space-usage-summary.csv": "/home/user/disk.csv",
	}, e.Export); diff != "" {
		t.Errorf("export (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]Inputs{
		"etcd-tip-go1.10": {
			Files:   map[string]string{"client-latency-by-key-number.csv": "results/etcd-by-key.csv"},
			Servers: []string{"results/etcd-1-server.csv"},
			Outputs: map[string]string{"all-aggregated.csv": "results/etcd-all.csv"},
		},
		"zookeeper-java8": {
			Files:   map[string]string{"client-latency-by-key-number.csv": "zk-by-key.csv"},
			Outputs: map[string]string{},
		},
	}, e.Inputs); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Report{TableCSV: "results/all.csv", TableTXT: "results/all.txt", PlotDir: "results",
		README: "results/README.md", Images: []Image{{"t", "p.svg", "remote"}}}, e.Report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Upload{URL: "gs://bucket/2018/write", KeyFile: "/does/not/exist.json", Project: "project"}, e.Upload); diff != "" {
		t.Errorf("upload (-want +got):\n%s", diff)
	}
}

// control wraps one database entry into a classic file; the entry is indented by four, so its first
// line is line 5.
func control(id, entry string) string {
	return "test_title: x\nall_database_id_list: [" + id + "]\ndatatbase_id_to_config_client_machine_agent_control:\n  " + id + ":\n" + entry
}

const classicOptions = "    benchmark_options: {type: write, request_number: 10, connection_number: 1, client_number: 1, key_size_bytes: 8, value_size_bytes: 8}\n"
const classicSteps = "    benchmark_steps: {step2_stress_database: true}\n"
const classicPeers = "    database_description: etcd\n    peer_ips: [10.0.0.1]\n"

func TestClassicProblems(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       []string
	}{
		{"title alone", "test_title: x\n", []string{`1:1: datatbase_id_to_config_client_machine_agent_control is missing`}},
		{"the right spelling is wrong", "database_id_to_config_client_machine_agent_control: {}\n", []string{
			`1:1: unknown key "database_id_to_config_client_machine_agent_control" (did you mean "datatbase_id_to_config_client_machine_agent_control"?)`,
			`1:1: datatbase_id_to_config_client_machine_agent_control is missing`}},
		{"nothing in it", "test_title: x\nconfig_client_machine_initial:\nall_database_id_list:\n" + classic.ControlKey + ":\nanalyze_readme:\nanalyze_plot_list:\n", []string{
			`4:53: no database: name at least one under databases`}},
		{"an empty entry", control("etcd__v3_3", ""), []string{
			`4:3: etcd__v3_3: database_description is missing; the tag is made of it`,
			`4:3: etcd__v3_3: benchmark_steps is missing`,
			`4:3: no hosts: list them under hosts, or give the endpoints of a cluster that runs`}},
		{"no options", control("etcd__v3_3", classicPeers+classicSteps), []string{`4:3: etcd__v3_3: benchmark_options is missing`}},
		{"empty options", control("etcd__v3_3", classicPeers+classicSteps+"    benchmark_options: {rate_limit_requests_per_second: -1}\n"), []string{
			`8:24: benchmark_options: type is missing`,
			`8:24: benchmark_options: request_number is missing`,
			`8:24: benchmark_options: client_number is missing`,
			`8:24: benchmark_options: key_size_bytes is missing`,
			`8:24: benchmark_options: value_size_bytes is missing`,
			`8:57: rate_limit_requests_per_second: -1 is not between 0 and 1e9 requests per second`}},
		{"zeros", control("etcd__v3_3", classicPeers+classicSteps+
			"    benchmark_options: {type: write, request_number: 0, connection_number: 0, client_number: 0, key_size_bytes: 0, value_size_bytes: 0}\n"), []string{
			`8:54: request_number: requests or duration must be positive, both are 0`,
			`8:76: connection_number must be positive, got 0`,
			`8:94: client_number must be positive, got 0`,
			`8:113: key_size_bytes must be positive, got 0`}},
		{"zookeeper's connections", control("zookeeper__r3_5_3_beta", classicPeers+classicSteps+
			"    benchmark_options: {type: writes, request_number: 10, connection_number: 1, client_number: 2, key_size_bytes: 8, value_size_bytes: 8}\n"), []string{
			`8:31: type: unknown value "writes" (did you mean "write"?)`,
			`8:78: connection_number: 1 for 2 clients, but clients of zookeeper cannot share one: leave it out, or give as many`}},
		{"unknown ids", "all_database_id_list: [etcd__v3_3, ectd__v3_2, etcd__v3_3, etcd__tip]\n" + classic.ControlKey + ":\n  etcd__v3_3:\n" +
			classicPeers + classicSteps + classicOptions + classic.AnalyzeKey + ": {etcd__v3_2: {}}\n", []string{
			`1:36: unknown database "ectd" (did you mean "etcd"?)`,
			`1:48: "etcd__v3_3" is listed twice`,
			`1:60: "etcd__tip" has no entry in datatbase_id_to_config_client_machine_agent_control`,
			`8:50: "etcd__v3_2" has no entry in datatbase_id_to_config_client_machine_agent_control`}},
		{"unknown keys", control("etcd__v3_3", classicPeers+classicSteps+classicOptions+"    etcd__v3_2: {}\n    agent_port: 1\n") +
			"config_client_machine_initial: {path_prefx: x}\nanalyze_plot: []\n", []string{
			`9:5: unknown key "etcd__v3_2" (did you mean "etcd__v3_3"?)`,
			`10:5: unknown key "agent_port" (did you mean "agent_port_to_connect"?)`,
			`11:33: unknown key "path_prefx" (did you mean "path_prefix"?)`,
			`12:1: unknown key "analyze_plot" (did you mean "analyze_plot_list"?)`}},
		{"upload to nowhere", control("etcd__v3_3", classicPeers+classicOptions+"    benchmark_steps: {step4_upload_logs: true}\n"), []string{
			`8:42: an upload needs a destination: give config_client_machine_initial.google_cloud_storage_bucket_name`}},
		{"images and tags", control("etcd__v3_3", "    database_description: a/b\n    peer_ips: [10.0.0.1, x y, [], 10.0.0.1]\n"+classicSteps+classicOptions) +
			"analyze_readme: {images: [{type: svg}]}\n", []string{
			`5:27: tag "a/b": a tag is made of a-z A-Z 0-9 _ . + , = @ - and starts with a letter, digit or _`,
			`6:26: peer_ips: want an IP address or a host name, got "x y"`,
			`6:31: peer_ips: want text, got a list`,
			`6:35: 10.0.0.1 is listed twice (also as host 1); members on one machine need different agent_port and ports`,
			`9:27: image: path is missing`,
			`9:34: type: unknown value "svg" (known: local, remote)`}},
		{"both schemas", "title: x\n" + classic.ControlKey + ":\n", []string{
			`2:1: "datatbase_id_to_config_client_machine_agent_control" belongs to the classic schema, but "title" (line 1) to the compact schema; a file must use one of them`}},
	} {
		t.Run(test.name, func(t *testing.T) { wantProblems(t, test.file, test.want) })
	}
}
