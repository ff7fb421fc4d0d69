package kube_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database/all"
	"github.com/coreos/dbtester/pkg/kube"
)

var update = flag.Bool("update", false, "rewrite the files that this test compares with")

// usual are options that nothing is wrong with.
func usual() kube.Options {
	return kube.Options{
		Namespace: "bench", Image: "registry.example.org/dbtester:v0.3.0", Disk: "20Gi", ResultsSize: "10Gi",
		Agent: kube.Share{CPUs: "2", Memory: "4Gi"}, Control: kube.Share{CPUs: "2", Memory: "2Gi"}, Privileged: true,
	}
}

// inPods returns an experiment as it is for pods, and its file.
func inPods(t *testing.T, path string, text []byte) (before, after *config.Experiment, file []byte) {
	t.Helper()
	catalog := all.Registry().All()
	before, _, err := config.Parse(path, text, catalog)
	if err != nil {
		t.Fatalf("parse the experiment: %v", err)
	}
	if file, err = kube.File(before, text, "bench"); err != nil {
		t.Fatalf("put pods in place of hosts: %v", err)
	}
	if after, _, err = config.Parse("experiment.yaml", file, catalog); err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return before, after, file
}

// TestGolden compares the manifests for every example with files, which tools/kube decodes into the
// published types. The experiment in them is that of the example on other hosts. Examples with
// faults that pods have no rights for are refused.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "test-configs", "*.yaml"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("read the example: %v", err)
			}
			before, after, inFile := inPods(t, filepath.Base(file), text)
			same := cmp.Options{
				cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(config.Experiment{}), cmpopts.IgnoreFields(config.Database{}, "Hosts"),
				cmpopts.IgnoreFields(config.Experiment{}, "AgentCerts", "Classic", "Inputs", "Report", "Export"),
				cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Place" }, cmp.Ignore()), // in the file
			}
			if diff := cmp.Diff(before, after, same); diff != "" {
				t.Errorf("another experiment runs in pods (-file +pods):\n%s", diff)
			}
			for i, db := range after.Databases {
				if got, want := len(db.Hosts), len(before.Databases[i].Hosts); got != want {
					t.Errorf("%s has %d hosts in pods, want %d", db.ID, got, want)
				}
			}
			got, err := kube.Render(after, inFile, usual())
			if why := refused[filepath.Base(file)]; why != nil {
				if err == nil || strings.Count(err.Error(), "rights") != len(why) || slices.ContainsFunc(why, func(part string) bool { return !strings.Contains(err.Error(), part) }) {
					t.Errorf("the error is %v, want each of %q once", err, why)
				}
				return
			}
			if err != nil {
				t.Fatalf("render the experiment: %v", err)
			}
			golden(t, filepath.Join("testdata", filepath.Base(file)), got)
		})
	}
}

// refused are the examples that pods cannot run, with their faults.
var refused = map[string][]string{
	"faults-stores-local.yaml": {"the fault partition needs rights", "the fault power needs rights"},
	"faults-equal-local.yaml":  {"the fault partition needs rights", "the fault power needs rights"},
}

// golden compares with a file, or with -update writes it.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the file (go test ./pkg/kube -update writes it): %v", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("manifests differ from %s (-file +rendered):\n%s", path, diff)
	}
}

// TestStrayGolden finds manifests for examples that are gone.
func TestStrayGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.yaml"))
	if err != nil {
		t.Fatalf("list the manifests: %v", err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !strings.HasPrefix(name, "options-") {
			if _, err := os.Stat(filepath.Join("..", "..", "test-configs", name)); err != nil {
				t.Errorf("%s is of no example: %v", file, err)
			}
		}
	}
}

// secured is an experiment with every kind of file and variable.
const secured = `title: secured
hosts: [10.0.0.2, 10.0.0.3, 10.0.0.4]
steps: {upload: true}
upload: {url: 'gs://bucket/runs', key_file: keys/gcs.json}
load: {requests: 1000}
databases:
  etcd:
  etcd__running:
    tag: running
    endpoints: ['10.0.9.1:2379']
    tls: {ca: /etc/etcd/ca.pem, cert: /etc/etcd/cert.pem, key: /etc/etcd/key.pem}
    auth: {user: root, password_env: ETCD_PASSWORD}
`

// TestOptions compares the manifests from other options with files.
func TestOptions(t *testing.T) {
	_, e, file := inPods(t, "secured.yaml", []byte(secured))
	o := usual()
	o.ResultsSize = ""
	got, err := kube.Render(e, file, o)
	if err != nil {
		t.Fatalf("render the experiment: %v", err)
	}
	golden(t, filepath.Join("testdata", "options-secured.yaml"), got)

	_, e, file = inPods(t, "generators.yaml", []byte(strings.ReplaceAll(secured, "hosts:", "generators: [10.0.1.2, 10.0.1.3]\nhosts:")))
	if got, err = kube.Render(e, file, o); err != nil {
		t.Fatalf("render the experiment: %v", err)
	}
	golden(t, filepath.Join("testdata", "options-generators.yaml"), got)

	_, e, file = inPods(t, "open.yaml", []byte("title: open\nhosts: [10.0.0.2]\nload: {requests: 1000}\ndatabases: {etcd: }\n"))
	o = usual()
	o.AgentFlags = []string{"--zookeeper-exec=/opt/zookeeper"}
	o.Insecure, o.ShareNodes, o.StorageClass, o.PullPolicy = true, true, "local-ssd", "Never"
	if got, err = kube.Render(e, file, o); err != nil {
		t.Fatalf("render the experiment: %v", err)
	}
	golden(t, filepath.Join("testdata", "options-open.yaml"), got)
}

func TestRefused(t *testing.T) {
	_, e, file := inPods(t, "x.yaml", []byte("title: x\nhosts: [a]\nresources: {cpus: 1}\nload: {requests: 10}\ndatabases: {etcd: }\n"))
	for _, test := range []struct {
		change func(*kube.Options)
		want   string
	}{
		{func(o *kube.Options) { o.Namespace = "No" }, `namespace must be a label of DNS, got "No"`},
		{func(o *kube.Options) { o.Image = "a b" }, `image must be the name of an image, got "a b"`},
		{func(o *kube.Options) { o.PullPolicy = "often" }, `pull policy must be Always, IfNotPresent or Never, got "often"`},
		{func(o *kube.Options) { o.StorageClass = "A" }, `storage class must be a name of DNS, got "A"`},
		{func(o *kube.Options) { o.Disk = "20 GB" }, `disk must be a size such as 512Mi or 4Gi, got "20 GB"`},
		{func(o *kube.Options) { o.Disk = "0.0Gi" }, `disk must be a size such as 512Mi or 4Gi, got "0.0Gi"`},
		{func(o *kube.Options) { o.Agent.CPUs = "0" }, `processors of agents must be a number such as 2, 0.5 or 500m, got "0"`},
		{func(o *kube.Options) { o.Agent.CPUs = "0.00" }, `processors of agents must be a number such as 2, 0.5 or 500m, got "0.00"`},
		{func(o *kube.Options) { o.Control.CPUs = "2Gi" }, `processors of control must be a number such as 2, 0.5 or 500m, got "2Gi"`},
		{func(o *kube.Options) { o.Control.Memory = "500m" }, `memory of control must be a size such as 512Mi or 4Gi, got "500m"`},
		{func(o *kube.Options) { o.AgentFlags = []string{"insecure"} }, `a flag of agents must be --NAME or --NAME=VALUE without $(, got "insecure"`},
		{func(o *kube.Options) { o.ResultsSize = "" }, "results would be lost: give them a claim, or upload them"},
		{func(o *kube.Options) { o.ResultsSize = "much" }, `size of the results must be a size such as 10Gi, got "much"`},
		{func(o *kube.Options) { o.Privileged = false }, "resources of etcd make control groups in the agents' containers, which needs root and privileges there: allow that with --privileged, or remove them"},
	} {
		o := usual()
		test.change(&o)
		if _, err := kube.Render(e, file, o); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	_, e, file = inPods(t, "x.yaml", []byte("title: x\nhosts: [a]\nload: {rate: 10, duration: 60s}\nfaults: [{kind: command, at: 9s, for: 1s, run: [ls], undo: none}]\ndatabases: {etcd: }\n"))
	if _, err := kube.Render(e, file, usual()); err == nil || !strings.Contains(err.Error(), "the fault command runs a program, and the image has none besides dbtester") {
		t.Errorf("a command in pods: %v, want it refused", err)
	}
	for _, test := range []struct{ key, want string }{
		{"experiment.yaml", `"experiment.yaml" must be a file below the working directory and not experiment.yaml, or an absolute path`},
		{"../key.pem", `"../key.pem" must be a file below the working directory and not experiment.yaml, or an absolute path`},
	} {
		text := fmt.Sprintf("title: x\nload: {requests: 10}\ndatabases: {etcd: {endpoints: ['a:1'], load: {rate: 5}, auth: {user: u, password_file: %s}}}\n", test.key)
		_, e, file := inPods(t, "x.yaml", []byte(text))
		if _, err := kube.Render(e, file, usual()); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	text := "title: x\nload: {requests: 10, rate: 5}\ndatabases: {etcd: {endpoints: ['a:1'], tls: {ca: a/b.pem, cert: a-b.pem, key: k.pem}}}\n"
	_, e, file = inPods(t, "x.yaml", []byte(text))
	if _, err := kube.Render(e, file, usual()); err == nil || err.Error() != `"a-b.pem" and "a/b.pem" are one key of a Secret, a-b.pem: rename one of them` {
		t.Errorf("two files with one key: %v", err)
	}
	if _, err := kube.File(e, []byte(text), "a.b"); err == nil {
		t.Error("a namespace with a dot is accepted, want it refused")
	}
	_, e, file = inPods(t, "x.yaml", []byte("title: x\nhosts: [a]\ntls: {ca: /ca.pem, cert: /cert.pem, key: /key.pem}\nload: {requests: 10}\ndatabases: {etcd: }\n"))
	if _, err := kube.Render(e, file, usual()); err == nil || !strings.HasPrefix(err.Error(), "tls of etcd: members in pods get new addresses") {
		t.Errorf("tls of members in pods: %v, want an error", err)
	}
	_, e, file = inPods(t, "x.yaml", []byte("title: x\nhosts: [a]\nsteps: {upload: true}\nupload: {url: 'file:///results'}\nload: {requests: 10}\ndatabases: {etcd: }\n"))
	o := usual()
	o.ResultsSize = ""
	if _, err := kube.Render(e, file, o); err == nil || err.Error() != "results would be lost: give them a claim, or upload them" {
		t.Errorf("an upload that stays in the pod: %v, want an error", err)
	}
}

// TestNeeds: the files an experiment reads and control's environment are in the commands for the
// Secrets.
func TestNeeds(t *testing.T) {
	sizes := filepath.Join(t.TempDir(), "sizes.csv")
	if err := os.WriteFile(sizes, []byte("100,1\n200,1\n"), 0o600); err != nil {
		t.Fatalf("write a file for the test: %v", err)
	}
	const begin = "title: x\nhosts: [a]\ndatabases: {etcd: }\n"
	for _, test := range []struct{ name, more, want string }{
		{"sizes", "load: {requests: 10, value_sizes: {law: histogram, file: " + sizes + "}}\n", "sizes.csv=" + sizes + "\n"},
		{"S3", "load: {requests: 10}\nsteps: {upload: true}\nupload: {url: 's3://bucket/runs'}\n", "environment --from-literal=AWS_ACCESS_KEY_ID=... --from-literal=AWS_REGION=... --from-literal=AWS_SECRET_ACCESS_KEY=...\n# The Secret environment may have more: AWS_ENDPOINT_URL, AWS_SESSION_TOKEN.\n"},
		{"S3 with a file", "load: {requests: 10}\nsteps: {upload: true}\nupload: {url: 's3://bucket/runs', key_file: key}\n", "files --from-file=key=key\n#   kubectl -n bench create secret generic environment --from-literal=AWS_REGION=...\n# The Secret environment may have more: AWS_ENDPOINT_URL.\n"},
		{"another server of S3's protocol", "load: {requests: 10}\nsteps: {upload: true}\nupload: {url: 's3://bucket/runs', key_file: key}\n", "- name: AWS_ENDPOINT_URL\n          valueFrom:\n            secretKeyRef:\n              name: environment\n              key: AWS_ENDPOINT_URL\n              optional: true\n"},
	} {
		_, e, file := inPods(t, "x.yaml", []byte(begin+test.more))
		out, err := kube.Render(e, file, usual())
		if err != nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v, want %q in\n%.1500s", test.name, err, test.want, out)
		}
	}
}

// TestFile covers how hosts are written. Hosts are the ordinals of their pods.
func TestFile(t *testing.T) {
	const rest = "load: {requests: 100}\n"
	for _, test := range []struct{ name, file, want string }{
		{"list", "hosts: [10.0.0.2, 10.0.0.3]\ndatabases: {etcd: , zookeeper: }\n", "0 1; 0 1"},
		{"own hosts", "hosts: [a, b]\ndatabases: {etcd: {hosts: [b, c]}, zookeeper: }\n", "1 2; 0 1"},
		{"agents' ports", "agent_port: 3600\nagent_certs: certs/control\nhosts:\n- a:1\n- {addr: a, agent_port: 2, ports: {client: 1, peer: 2}}\ndatabases: {etcd: }\n", "0 1"},
		{"anchor", "hosts: &all [a, b]\ndatabases: {etcd: {hosts: *all}}\n", "0 1"},
		{"members", "hosts: [a, b, c]\nmembers: 1\ndatabases: {etcd: , zookeeper: {members: 2}}\n", "0; 0 1"},
		{"one name for all", "hosts: ['dns:agent']\nmembers: 3\ndatabases: {etcd: }\n", "0 1 2"},
		{"one name in a mapping", "hosts: [{addr: 'dns:agent', agent_port: 7}]\nmembers: 2\ndatabases: {etcd: }\n", "0 1"},
		{"names of databases", "hosts: ['dns:a:3600']\nmembers: 2\ndatabases: {etcd: , zookeeper: {hosts: ['dns:z'], members: 1}}\n", "0 1; 2"},
		{"single host of its own", "hosts: [a, b, c]\ndatabases: {etcd: {hosts: [c]}, zookeeper: }\n", "2; 0 1 2"},
		{"no title", "databases: {etcd: {hosts: [a]}}\n", "0"},
		{"no hosts", "databases: {etcd: {endpoints: ['10.0.0.2:2379'], load: {rate: 100}}}\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, e, file := inPods(t, "x.yaml", []byte(rest+test.file))
			var databases []string
			for _, db := range e.Databases {
				var list []string
				for _, h := range db.Hosts {
					ordinal, ok := strings.CutPrefix(strings.TrimSuffix(h.DNS, ".agent.bench.svc"), "agent-")
					if !ok || h.AgentPort != 3500 {
						t.Errorf("a host is %+v, want the name of a pod and the agents' usual port", h)
					}
					list = append(list, ordinal)
				}
				databases = append(databases, strings.Join(list, " "))
			}
			if got := strings.Join(databases, "; "); got != test.want || e.AgentCerts != "" || e.Title != "x" {
				t.Errorf("%s: pods are %q, certificates %q; want x, %q and none\n%s", e.Title, got, e.AgentCerts, test.want, file)
			}
			again, err := kube.File(e, file, "bench")
			if err != nil || string(again) != string(file) {
				t.Errorf("made again it differs, %v:\n%s", err, cmp.Diff(string(file), string(again)))
			}
		})
	}
}

// A replica for each pod the experiment names, also if databases use different ones.
func TestReplicas(t *testing.T) {
	_, e, file := inPods(t, "x.yaml", []byte("title: x\nhosts: [a, b, c]\nmembers: 1\nload: {requests: 100}\ndatabases: {etcd: , zookeeper: {hosts: [d]}}\n"))
	out, err := kube.Render(e, file, usual())
	if err != nil {
		t.Fatalf("render the experiment: %v", err)
	}
	loader, err := yaml.NewLoader(strings.NewReader(string(out)))
	if err != nil {
		t.Fatalf("read the manifests: %v", err)
	}
	for {
		var o struct {
			Kind string
			Spec struct{ Replicas int }
		}
		if err := loader.Load(&o); err != nil {
			t.Fatalf("no StatefulSet: %v", err)
		}
		if o.Kind != "StatefulSet" {
			continue
		}
		if o.Spec.Replicas != 4 {
			t.Errorf("%d replicas, want 4: the second database has agent-3", o.Spec.Replicas)
		}
		return
	}
}

// Names in an experiment cannot end a comment or a word of a command that is printed: no object
// comes of it.
func TestHostileTexts(t *testing.T) {
	evil := "x\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: evil, namespace: kube-system}\n# $(reboot) 'a\u2028b\r"
	e := &config.Experiment{
		Title: evil, Generators: []config.Host{{DNS: "generator-0.generator"}},
		Databases: []config.Database{{
			ID: "etcd", TLS: &config.TLS{CA: "/" + evil, Cert: "/b", Key: "/c"}, Auth: &config.Auth{PasswordFile: "/" + evil + "2", PasswordEnv: evil},
		}},
		Upload: &config.Upload{KeyFile: "/" + evil + "3", URL: "s3://b"},
	}
	o := usual()
	text, err := kube.Render(e, []byte("title: x\n"), o)
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	d, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		var object struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		if err := d.Load(&object); errors.Is(err, io.EOF) {
			if n < 3 {
				t.Errorf("%d objects:\n%s", n, text)
			}
			break
		} else if err != nil {
			t.Fatalf("object %d: %v\n%s", n, err, text)
		}
		if object.Metadata.Namespace != o.Namespace || object.Metadata.Name == "evil" {
			t.Errorf("object %d is %+v", n, object)
		}
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") && strings.Contains(line, "create secret generic") && strings.Count(strings.ReplaceAll(line, `'\''`, ""), "'")%2 != 0 {
			t.Errorf("a quote is open at the end of %q", line)
		}
	}
	if strings.Contains(string(text), "\n$(") || strings.Contains(string(text), "\r") {
		t.Errorf("a text of the experiment stands on a line of its own:\n%s", text)
	}
}
