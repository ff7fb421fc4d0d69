// Package scripts_test runs the scripts that set up machines: on folders in place of a machine
// root, and as dry runs.
package scripts_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

var update = flag.Bool("update", false, "write the files that tests compare with")

// program replaces dbtester. Its checksum is in a compared file.
const program = "#!/bin/sh\necho \"$@\"\n"

// script runs a script from this folder in dir with the given environment. It returns the exit code
// and the whole output.
func script(t *testing.T, dir string, env []string, name string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command("bash", append([]string{"scripts/" + name}, args...)...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C"}, env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run %s: %v", name, err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// checkout returns a folder with bin/dbtester, the scripts and certificates.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatalf("find this folder: %v", err)
	}
	write(t, filepath.Join(dir, "bin", "dbtester"), program, 0o755)
	for _, name := range []string{"ca.pem", "cert.pem", "key.pem"} {
		write(t, filepath.Join(dir, "certs", "agent-10.0.0.2", name), name+"\n", 0o600)
	}
	if err := os.Symlink(here, filepath.Join(dir, "scripts")); err != nil {
		t.Fatalf("link the scripts: %v", err)
	}
	return dir
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatalf("write a file: %v", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read a file: %v", err)
	}
	return string(text)
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		write(t, path, got, 0o644)
	}
	if want := read(t, path); got != want {
		t.Errorf("%s differs; go test ./scripts -update writes it. Got:\n%s", path, got)
	}
}

func sum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// tree lists every path below a folder with its mode, owner and checksum.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		owner := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&b, "%s %v %d:%d", strings.TrimPrefix(path, dir), info.Mode(), owner.Uid, owner.Gid)
		if info.Mode().IsRegular() {
			fmt.Fprintf(&b, " %s", sum(read(t, path)))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatalf("list the folder: %v", err)
	}
	return b.String()
}

// machineRoot returns a folder with as much of a system as the scripts need.
func machineRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "etc", "passwd"), "root:x:0:0:root:/root:/bin/sh\n", 0o644)
	write(t, filepath.Join(root, "etc", "shadow"), "root:*:19000:0:99999:7:::\n", 0o600)
	write(t, filepath.Join(root, "etc", "group"), "root:x:0:\n", 0o644)
	write(t, filepath.Join(root, "etc", "gshadow"), "root:*::\n", 0o600)
	return root
}

// counted finds how many changes a script counted.
var counted = regexp.MustCompile(`(?m)^machine-(?:server|client)\.sh: changes (?:made|that would be made): (\d+)$`)

// applied runs a machine script that must succeed, and returns how many changes it counted (""
// without changes) and its output.
func applied(t *testing.T, dir, name string, args ...string) (string, string) {
	t.Helper()
	code, out := script(t, dir, nil, name, args...)
	if code != 0 {
		t.Fatalf("%s %q: exit code %d\n%s", name, args, code, out)
	}
	if m := counted.FindStringSubmatch(out); m != nil {
		return m[1], out
	}
	if !strings.Contains(out, name+": nothing to change\n") {
		t.Fatalf("%s counts no changes and does not print that there are none:\n%s", name, out)
	}
	return "", out
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files to another user")
	}
}

// A machine is set up once; a second run finds nothing to do, and a dry run does nothing.
func TestServer(t *testing.T) {
	needRoot(t)
	dir, root := checkout(t), machineRoot(t)
	args := []string{"--root", root, "--no-packages", "--listen", "10.0.0.2:3500"}
	first := slices.Concat(args, []string{"--binary", "bin/dbtester", "--sha256", sum(program), "--certs", "certs/agent-10.0.0.2"})
	before := tree(t, root)
	planned, out := applied(t, dir, "machine-server.sh", append(first, "--dry-run")...)
	if after := tree(t, root); after != before {
		t.Errorf("a dry run must change nothing, the folder was\n%sand is\n%s", before, after)
	}
	made, did := applied(t, dir, "machine-server.sh", first...)
	if planned == "" || made != planned {
		t.Errorf("a dry run plans %q changes and the run makes %q:\n%s%s", planned, made, out, did)
	}
	golden(t, "dbtester-agent.service", read(t, filepath.Join(root, "etc/systemd/system/dbtester-agent.service")))
	checkOwned(t, root)
	if got := read(t, filepath.Join(root, "usr/local/bin/dbtester")); got != program {
		t.Errorf("the executable has %q", got)
	}
	whole := tree(t, root)
	for _, again := range [][]string{first, args} {
		if n, out := applied(t, dir, "machine-server.sh", again...); n != "" {
			t.Errorf("%q again changes:\n%s", again, out)
		}
		if after := tree(t, root); after != whole {
			t.Errorf("%q again must change nothing, the folder was\n%sand is\n%s", again, whole, after)
		}
	}
	// A new certificate is one change, and so is a lost mode.
	write(t, filepath.Join(dir, "certs/agent-10.0.0.2/cert.pem"), "renewed\n", 0o600)
	if n, out := applied(t, dir, "machine-server.sh", first...); n != "1" || strings.Contains(out, "key.pem") {
		t.Errorf("a renewed certificate makes %q changes:\n%s", n, out)
	}
	if err := os.Chmod(filepath.Join(root, "etc/dbtester/certs/key.pem"), 0o644); err != nil {
		t.Fatalf("change a mode: %v", err)
	}
	if n, out := applied(t, dir, "machine-server.sh", first...); n != "1" || !strings.Contains(out, "key.pem, mode 600") {
		t.Errorf("a key that others can read makes %q changes:\n%s", n, out)
	}
	// A folder in which the user could put links is root's again.
	if err := os.Chown(filepath.Join(root, "var/lib/dbtester"), 4242, 4242); err != nil {
		t.Fatalf("change an owner: %v", err)
	}
	if n, out := applied(t, dir, "machine-server.sh", first...); n != "1" || !strings.Contains(out, "var/lib/dbtester, mode 755, of root\n") {
		t.Errorf("a folder of another user makes %q changes:\n%s", n, out)
	}
}

// checkOwned checks that the user of the agent has its folders and its key, and others do not.
func checkOwned(t *testing.T, root string) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^dbtester:x:(\d+):(\d+):`).FindStringSubmatch(read(t, filepath.Join(root, "etc/passwd")))
	if m == nil {
		t.Fatalf("there is no user dbtester:\n%s", read(t, filepath.Join(root, "etc/passwd")))
	}
	list := tree(t, root)
	for _, want := range []string{
		"/etc/dbtester/certs/key.pem -rw------- ", "/etc/dbtester/certs/ca.pem -rw-r--r-- ",
		"/var/lib/dbtester/work drwx------ ", "/var/lib/dbtester/cache drwxr-xr-x ",
	} {
		if want += m[1] + ":" + m[2]; !strings.Contains(list, want) {
			t.Errorf("%q is missing in\n%s", want, list)
		}
	}
	for _, want := range []string{
		"/usr/local/bin/dbtester -rwxr-xr-x 0:0 ", "/etc/systemd/system/dbtester-agent.service -rw-r--r-- 0:0 ",
		// Where root gives away folders and writes files, no other user can put a link.
		"/etc/dbtester drwxr-xr-x 0:0\n", "/etc/dbtester/certs drwxr-xr-x 0:0\n", "/var/lib/dbtester drwxr-xr-x 0:0\n",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is missing in\n%s", want, list)
		}
	}
	link, err := os.Readlink(filepath.Join(root, "etc/systemd/system/multi-user.target.wants/dbtester-agent.service"))
	if err != nil || link != "/etc/systemd/system/dbtester-agent.service" {
		t.Errorf("the unit is enabled by a link to %q (%v)", link, err)
	}
}

func TestClient(t *testing.T) {
	needRoot(t)
	dir, root := checkout(t), machineRoot(t)
	args := []string{"--root", root, "--no-packages", "--binary", "bin/dbtester", "--sha256", sum(program), "--certs", "certs/agent-10.0.0.2"}
	planned, _ := applied(t, dir, "machine-client.sh", append(args, "--dry-run")...)
	made, out := applied(t, dir, "machine-client.sh", args...)
	if planned == "" || made != planned {
		t.Errorf("a dry run plans %q changes and the run makes %q:\n%s", planned, made, out)
	}
	list := tree(t, root)
	for _, want := range []string{"/etc/dbtester/control/key.pem -rw------- 0:0", "/usr/local/bin/dbtester -rwxr-xr-x 0:0"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is missing in\n%s", want, list)
		}
	}
	if text := read(t, filepath.Join(root, "etc/security/limits.d/dbtester.conf")); !strings.Contains(text, "\nroot hard nofile 262144\n") {
		t.Errorf("the limits of the user who runs control are\n%s", text)
	}
	if n, out := applied(t, dir, "machine-client.sh", args...); n != "" {
		t.Errorf("the same again changes:\n%s", out)
	}
}

// What cannot be used is refused with the reason, before anything is changed.
func TestRefused(t *testing.T) {
	dir, root := checkout(t), machineRoot(t)
	before := tree(t, root)
	server := []string{"--root", root, "--dry-run", "--no-packages", "--listen", "10.0.0.2:3500"}
	with := func(flags []string, more ...string) []string { return slices.Concat(flags, more) }
	good := with(server, "--certs", "certs/agent-10.0.0.2")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"machine-server.sh", with(good, "--disc", "/dev/sdb"), 2, "unknown flag --disc"},
		{"machine-server.sh", with(good, "--binary"), 2, "--binary needs a value"},
		{"machine-server.sh", with(good, "--dir"), 2, "--dir needs a value"},
		{"machine-server.sh", with(good, "--binary", "bin/dbtester"), 2, "--binary needs --sha256 with 64"},
		{"machine-server.sh", with(good, "--sha256", sum(program)), 2, "--sha256 needs --binary"},
		{"machine-server.sh", with(good, "--binary", "bin/dbtester", "--sha256", sum("x")), 1, "must have the checksum " + sum("x") + ", got '" + sum(program) + "'"},
		{"machine-server.sh", good, 2, "--binary is required"},
		{"machine-server.sh", with(server, "--binary", "bin/dbtester", "--sha256", sum(program)), 2, "--certs is required"},
		{"machine-server.sh", with(server, "--certs", "certs"), 1, "it has no ca.pem"},
		{"machine-server.sh", with(good, "--disk", "/dev/sdb"), 2, "--disk is a disk of this machine"},
		{"machine-server.sh", with(good, "--dir", "/var/lib/db tester"), 2, "--dir must be an absolute path"},
		{"machine-server.sh", []string{"--dry-run", "--root", root, "--listen", "3500"}, 2, "--listen must be ADDRESS:PORT"},
		{"machine-server.sh", []string{"--dry-run", "--root", t.TempDir(), "--listen", "10.0.0.2:3500"}, 1, "it has no etc/passwd"},
		{"machine-client.sh", []string{"--dry-run", "--root", root, "--user"}, 2, "--user needs a value"},
		{"machine-client.sh", with(server[:3], "--binary", "bin/dbtester", "--sha256", sum(program), "--user", "nobody-here"), 1, "there is no user nobody-here"},
		{"gcloud.sh", nil, 2, "scripts/gcloud.sh create"},
	} {
		code, out := script(t, dir, nil, tt.name, tt.args...)
		if code != tt.code || !strings.Contains(out, tt.want) {
			t.Errorf("%s %q: exit code %d, want %d and %q:\n%s", tt.name, tt.args, code, tt.code, tt.want, out)
		}
	}
	if after := tree(t, root); after != before {
		t.Errorf("refused commands must change nothing, the folder was\n%sand is\n%s", before, after)
	}
}

// --help explains every flag that the scripts have.
func TestHelp(t *testing.T) {
	dir := checkout(t)
	for _, name := range []string{"machine-server.sh", "machine-client.sh"} {
		code, out := script(t, dir, nil, name, "--help")
		if code != 0 || !strings.HasPrefix(out, "Makes a Debian or Ubuntu machine ") || strings.Contains(out, "set -euo") {
			t.Errorf("%s --help: exit code %d\n%s", name, code, out)
		}
		source := read(t, name) + read(t, "machine-common.sh")
		for _, m := range regexp.MustCompile(`(?m)^\t(?:-h \| )?(--[a-z0-9]+(?:-[a-z]+)*(?: \| --[a-z]+)*)\)`).FindAllStringSubmatch(source, -1) {
			for _, flag := range strings.Split(m[1], " | ") {
				if flag != "--help" && !strings.Contains(out, "\t"+flag+" ") {
					t.Errorf("%s --help does not explain %s:\n%s", name, flag, out)
				}
			}
		}
	}
}

// systemd accepts the unit that machine-server.sh writes.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not on this machine")
	}
	const name = "dbtester-agent.service"
	verify := func(text string) (string, string) {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, strings.ReplaceAll(text, "/usr/local/bin/dbtester", "/bin/sh"), 0o644)
		out, err := exec.Command(analyze, "verify", "--man=no", path).CombinedOutput()
		var found []string
		for line := range strings.Lines(string(out)) { // units on this machine may have problems too
			if strings.Contains(line, name) {
				found = append(found, line)
			}
		}
		return strings.Join(found, ""), fmt.Sprintf("%s(%v)", out, err)
	}
	unit := read(t, filepath.Join("testdata", name))
	if found, out := verify(strings.Replace(unit, "KillMode=mixed", "KillMode=some", 1)); found == "" {
		t.Skipf("systemd-analyze does not see a wrong unit here: %s", out)
	}
	if found, out := verify(unit); found != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
}

// DRY_RUN=1 prints the commands for machines in a cloud, and they are those that run.
func TestGcloud(t *testing.T) {
	dir := checkout(t)
	log, made, env := fakeGcloud(t, dir)
	dry := append(env, "DRY_RUN=1")
	printed := map[string]string{}
	for _, verb := range []string{"create", "delete"} {
		code, out := script(t, dir, dry, "gcloud.sh", verb)
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s", verb, code, out)
		}
		printed[verb] = out
	}
	if _, err := os.Stat(log); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a dry run must call nothing, and called\n%s", read(t, log))
	}
	golden(t, "gcloud.txt", "$ DRY_RUN=1 scripts/gcloud.sh create\n"+printed["create"]+"\n$ DRY_RUN=1 scripts/gcloud.sh delete\n"+printed["delete"])
	for _, verb := range []string{"create", "delete"} {
		if code, out := script(t, dir, env, "gcloud.sh", verb); code != 0 {
			t.Fatalf("%s: exit code %d\n%s", verb, code, out)
		}
		write(t, made, "", 0o644)
	}
	want := commands(printed["create"]+printed["delete"], "gcloud ")
	login := want[len(commands(printed["create"], "gcloud "))-1] // it is for the user alone
	if got := strings.ReplaceAll(read(t, log), login+"\n", ""); got != strings.ReplaceAll(strings.Join(want, "\n")+"\n", login+"\n", "") {
		t.Errorf("called\n%s\nprinted\n%s", got, strings.Join(want, "\n"))
	}
	// What is there is not made again.
	write(t, log, "", 0o644)
	if code, out := script(t, dir, env, "gcloud.sh", "create"); code != 0 {
		t.Fatalf("create again: exit code %d\n%s", code, out)
	}
	if got := read(t, log); strings.Contains(got, " create ") || !strings.Contains(got, " scp ") {
		t.Errorf("a second create must set up what is there, and called\n%s", got)
	}
}

// commands are the printed commands that begin with word, without quotes.
func commands(printed, word string) (list []string) {
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, word) {
			list = append(list, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "'", ""))
		}
	}
	return list
}
