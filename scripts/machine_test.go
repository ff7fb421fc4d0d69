package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fakeGcloud makes a gcloud that notes its calls in the file log, and that finds everything if the
// file made is there, and nothing otherwise. env is the environment for calling it.
func fakeGcloud(t *testing.T, dir string) (log, made string, env []string) {
	t.Helper()
	log, made = filepath.Join(dir, "log"), filepath.Join(dir, "made")
	write(t, filepath.Join(dir, "fake", "gcloud"), `#!/bin/sh
case " $* " in
*" describe "*)
	test -e `+made+` && exit
	for word; do echo "The resource 'projects/my-project/$3s/$word' was not found" >&2; done
	exit 1 ;;
esac
echo "gcloud $*" >>`+log+"\n", 0o755)
	return log, made, []string{"PATH=" + filepath.Join(dir, "fake") + ":" + os.Getenv("PATH"), "PROJECT=my-project"}
}

// TestGcloudParts has machines that are missing, or not complete.
func TestGcloudParts(t *testing.T) {
	dir := checkout(t)
	log, _, env := fakeGcloud(t, dir)
	// What is not there is not removed.
	write(t, log, "", 0o644)
	if code, out := script(t, dir, env, "gcloud.sh", "delete"); code != 0 || read(t, log) != "" {
		t.Errorf("delete without anything there: exit code %d\n%s\ncalled\n%s", code, out, read(t, log))
	}
	// A missing certificate in the CA, and unknown facts, are errors before all else.
	write(t, filepath.Join(dir, "certs", "ca.pem"), "", 0o600)
	if code, out := script(t, dir, env, "gcloud.sh", "create"); code != 1 || !strings.Contains(out, "a CA without agent-10.240.0.11") || read(t, log) != "" {
		t.Errorf("create without certificates: exit code %d\n%s\ncalled\n%s", code, out, read(t, log))
	}
	write(t, filepath.Join(dir, "fake", "gcloud"), "#!/bin/sh\necho no connection >&2\nexit 1\n", 0o755)
	if code, out := script(t, dir, env, "gcloud.sh", "delete"); code != 1 || !strings.Contains(out, "instances dbtester-1: no connection") {
		t.Errorf("delete without a connection: exit code %d\n%s", code, out)
	}
}

// A link in place of a folder is refused, and its target stays as it is.
func TestLinks(t *testing.T) {
	needRoot(t)
	dir, root, other := checkout(t), machineRoot(t), t.TempDir()
	args := []string{"--root", root, "--no-packages", "--listen", "10.0.0.2:3500", "--binary", "bin/dbtester", "--sha256", sum(program), "--certs", "certs/agent-10.0.0.2"}
	write(t, filepath.Join(other, "file"), "", 0o644)
	before := tree(t, other)
	write(t, filepath.Join(root, "var/lib/dbtester/file"), "", 0o644)
	if err := os.Symlink(other, filepath.Join(root, "var/lib/dbtester/work")); err != nil {
		t.Fatalf("make a link: %v", err)
	}
	code, out := script(t, dir, nil, "machine-server.sh", args...)
	if code != 1 || !strings.Contains(out, "work must be a folder and no link") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if after := tree(t, other); after != before {
		t.Errorf("the folder was\n%sand is\n%s", before, after)
	}
}

// A disk that must not be taken is refused before anything is changed, and the firewall commands
// name the ports in use.
func TestThisMachine(t *testing.T) {
	dir, fake := checkout(t), t.TempDir()
	env := []string{"PATH=" + fake + ":" + os.Getenv("PATH")}
	write(t, filepath.Join(fake, "ufw"), "#!/bin/sh\necho Status: active\n", 0o755)
	args := []string{"--dry-run", "--dir", filepath.Join("/tmp", "dbtester-none"), "--listen", "10.0.0.2:4500", "--binary", "bin/dbtester", "--sha256", sum(program), "--certs", "certs/agent-10.0.0.2"}
	code, out := script(t, dir, env, "machine-server.sh", args...)
	if code != 0 || !strings.Contains(out, "any port 2181,2379,2380,2888,4500,3888,") || !strings.Contains(out, "proto udp from NETWORK to any port 8301\n") {
		t.Errorf("with a firewall: exit code %d\n%s", code, out)
	}
	refused := func(disk, want string) {
		t.Helper()
		code, out := script(t, dir, env, "machine-server.sh", append(args, "--disk", disk)...)
		if code != 1 || out != "machine-server.sh: "+want+"\n" {
			t.Errorf("exit code %d, want 1 and %q:\n%s", code, want, out)
		}
	}
	refused("bin/dbtester", "--disk must be a block device, got bin/dbtester")
	disk := filepath.Join(t.TempDir(), "disk")
	if err := syscall.Mknod(disk, syscall.S_IFBLK|0o600, 0); err != nil {
		t.Skipf("needs the right to make a device: %v", err)
	}
	write(t, filepath.Join(fake, "mountpoint"), "#!/bin/sh\ncase $1 in -d) echo 8:0 ;; -x) echo 8:16 ;; esac\n", 0o755)
	refused(disk, "/tmp/dbtester-none has another disk than "+disk+" mounted, and both are left as they are")
	write(t, filepath.Join(fake, "mountpoint"), "#!/bin/sh\nexit 1\n", 0o755)
	write(t, filepath.Join(fake, "blkid"), "#!/bin/sh\necho /dev/other\n", 0o755)
	refused(disk, disk+" and /dev/other would both have the label dbtester, by which /etc/fstab mounts")
	write(t, filepath.Join(fake, "blkid"), "#!/bin/sh\ntest $1 != -p || echo LABEL=data\n", 0o755)
	refused(disk, disk+" holds something that this script did not make, and is left as it is: LABEL=data ")
}
