package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSyntax has bash read every script, also those that no test executes.
func TestSyntax(t *testing.T) {
	files, err := filepath.Glob("*.sh")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestKubeRefused covers errors before a cluster is touched.
func TestKubeRefused(t *testing.T) {
	dir, empty := checkout(t), t.TempDir()
	for _, tt := range []struct {
		env  []string
		name string
		args []string
		code int
		want string
	}{
		{nil, "kube-cluster.sh", nil, 1, "up or down"},
		{nil, "kube-cluster.sh", []string{"up"}, 1, "a folder"},
		{nil, "kube-cluster.sh", []string{"sideways", empty}, 2, "up or down, not sideways"},
		{nil, "kube-cluster.sh", []string{"down", empty}, 0, ""}, // it started nothing there
		{[]string{"PATH=" + empty}, "check-tools.sh", []string{"kube"}, 1, "apt-get install -y busybox-static"},
	} {
		code, out := script(t, dir, tt.env, tt.name, tt.args...)
		if code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("%s %q: exit code %d, want %d and %q:\n%s", tt.name, tt.args, code, tt.code, tt.want, out)
		}
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

// TestKubePage: docs/kubernetes.md has the sections whose commands kube.sh executes, and a single
// Kubernetes version.
func TestKubePage(t *testing.T) {
	text := read(t, filepath.Join("..", "docs", "kubernetes.md"))
	for _, tt := range []struct{ section, command string }{
		{"4. The run", "kubectl -n bench get job control -o 'jsonpath="},
		{"5. The report", "kubectl -n bench cp fetch:/results results\ndbtester analyze --all results\n"},
		{"6. The end", "kubectl delete namespace bench\n"},
	} {
		_, section, _ := strings.Cut(text, "\n## "+tt.section+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if n := strings.Count(section, tt.command); n != 1 {
			t.Errorf("section %q has %q %d times, want once", tt.section, tt.command, n)
		}
	}
	want := regexp.MustCompile(`(?m)^version=(v1\.\S+)`).FindStringSubmatch(read(t, "kube.sh"))
	if want == nil {
		t.Fatal("kube.sh has no version of Kubernetes")
	}
	if parts := read(t, filepath.Join("..", "tools", "kube", "parts", "go.mod")); !strings.Contains(parts, "k8s.io/kubernetes "+want[1]+"\n") {
		t.Errorf("tools/kube/parts is not made of Kubernetes %s", want[1])
	}
	types := "k8s.io/api v0" + strings.TrimPrefix(want[1], "v1") + "\n"
	if module := read(t, filepath.Join("..", "tools", "kube", "go.mod")); !strings.Contains(module, types) {
		t.Errorf("tools/kube decodes manifests into other types than %s", types)
	}
}

// TestEveryScriptHelps: every script for users explains itself, and does nothing else.
func TestEveryScriptHelps(t *testing.T) {
	files, err := filepath.Glob("*.sh")
	if err != nil {
		t.Fatalf("list the scripts: %v", err)
	}
	for _, file := range files {
		switch file {
		case "help.sh", "machine-common.sh": // other scripts read them
			continue
		}
		cmd := exec.Command("bash", filepath.Join("scripts", file), "--help")
		cmd.Dir = ".."
		out, err := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		if err != nil || text == "" || strings.Contains(text, "#!") || !strings.Contains(scriptText(t, file), "# "+strings.SplitN(text, "\n", 2)[0]) {
			t.Errorf("%s --help: %v, %q, want the comment at its top", file, err, text)
		}
	}
}

func scriptText(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the script: %v", err)
	}
	return string(data)
}
