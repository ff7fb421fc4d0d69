package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubeDocument renders the experiment in docs/kubernetes.md: the manifests and the page have
// the same commands.
func TestKubeDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "kubernetes.md"))
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	var experiment string
	for _, block := range blocks(string(text), "yaml") {
		if strings.HasPrefix(block, "title:") {
			experiment = block
		}
	}
	var render []string
	for _, line := range commandLines(string(text), "sh") {
		if words := shellWords(line); len(words) > 4 && words[1] == "kube" && words[4] == "bench.yaml" {
			render = words[1:]
		}
	}
	if experiment == "" || render == nil {
		t.Fatal("the page has no experiment, or does not render it")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("bench.yaml", []byte(experiment), 0o600); err != nil {
		t.Fatalf("write the experiment: %v", err)
	}
	code, out, errs := program(t, render...)
	if code != exitDone {
		t.Fatalf("%q: exit code %d\n%s", render, code, errs)
	}
	var commands []string
	for line := range strings.Lines(out) {
		if command, ok := strings.CutPrefix(line, "#   "); ok {
			commands = append(commands, command)
			if !strings.Contains(string(text), "\n"+command) {
				t.Errorf("the page lacks the command %q", command)
			}
		}
	}
	if len(commands) != 4 || !strings.Contains(out, "image: registry.example.org/dbtester:v0.3.0\n") {
		t.Errorf("the manifests ask for %d commands, want four, and the page's image:\n%s", len(commands), out)
	}
}

// TestKubeRefused covers experiments that cannot be rendered.
func TestKubeRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"target.yaml":  "title: x\nhosts: [10.0.0.2, 10.0.0.3]\nload: {requests: 10, target: 10.0.0.3}\ndatabases: {etcd: }\n",
		"limited.yaml": "title: x\nhosts: [10.0.0.2]\nresources: {cpus: 1}\nload: {requests: 10}\ndatabases: {etcd: }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatalf("write the experiment: %v", err)
		}
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "--config FILE is required"},
		{[]string{"--config", "none.yaml"}, "none.yaml"},
		{[]string{"--config", "target.yaml"}, `unknown value "10.0.0.3"`},
		{[]string{"--config", "limited.yaml"}, "--privileged"},
		{[]string{"--config", "limited.yaml", "--privileged", "--cpus", "few"}, `"few"`},
	} {
		if code, out, errs := program(t, append([]string{"kube", "render"}, test.args...)...); code != exitUsage || out != "" || !strings.Contains(errs, test.want) {
			t.Errorf("%q: exit code %d, want %d with %s\n%s%s", test.args, code, exitUsage, test.want, out, errs)
		}
	}
}
