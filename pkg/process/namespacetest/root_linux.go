package namespacetest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Root runs programs in a root file system in memory. They see no files from this machine except
// /proc, /sys and a few devices.
type Root struct {
	t   *testing.T
	dir string
}

// NewRoot makes a root file system with the named programs from this machine and the shared
// libraries they need. The test must be in [Again]'s mount namespace, as its user 0. The root ends
// with the test.
func NewRoot(t *testing.T, programs ...string) *Root {
	t.Helper()
	dir, err := os.MkdirTemp("", "root-")
	if err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	r := &Root{t: t, dir: dir}
	if err := unix.Mount("root", dir, "tmpfs", unix.MS_NOSUID, "mode=0755"); err != nil {
		t.Fatalf("mount a file system in memory: %v", errors.Join(err, os.Remove(dir)))
	}
	t.Cleanup(func() {
		// Only the empty folder below the mount is removed: the root has /proc and devices in it.
		if err := errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)); err != nil {
			t.Errorf("remove the root: %v", err)
		}
	})
	for _, name := range []string{"proc", "sys", "dev", "tmp", "usr/bin", "etc"} {
		r.Mkdir(name)
	}
	for _, name := range []string{"bin", "lib", "lib64"} {
		r.Mkdir("usr/" + name)
		if err := os.Symlink("usr/"+name, r.Path(name)); err != nil {
			t.Fatalf("make a link: %v", err)
		}
	}
	for _, name := range []string{"/proc", "/sys", "/dev/null", "/dev/urandom"} {
		r.bind(name)
	}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("a program of the root: %v", err)
		}
		r.Add(path, "/usr/bin/"+name)
	}
	return r
}

// Path returns where the test finds a path in the root.
func (r *Root) Path(path string) string { return filepath.Join(r.dir, path) }

// Mkdir makes a folder and those above it.
func (r *Root) Mkdir(path string) {
	r.t.Helper()
	if err := os.MkdirAll(r.Path(path), 0o755); err != nil {
		r.t.Fatalf("make a folder of the root: %v", err)
	}
}

// Write writes a file.
func (r *Root) Write(path, text string) {
	r.t.Helper()
	r.Mkdir(filepath.Dir(path))
	if err := os.WriteFile(r.Path(path), []byte(text), 0o644); err != nil {
		r.t.Fatalf("write a file of the root: %v", err)
	}
}

// Add copies a file from this machine into the root. If it is a program, it also copies the
// libraries it needs.
func (r *Root) Add(from, to string) {
	r.t.Helper()
	if err := r.copy(from, to); err != nil {
		r.t.Fatalf("copy %s into the root: %v", from, err)
	}
	out, _ := exec.Command("ldd", from).Output() // fails for a program without libraries
	for _, word := range strings.Fields(string(out)) {
		if !filepath.IsAbs(word) {
			continue
		}
		if err := r.copy(word, word); err != nil && !errors.Is(err, fs.ErrExist) {
			r.t.Fatalf("copy the library %s into the root: %v", word, err)
		}
	}
}

// copy copies a file with its permissions. The file must not exist in the root.
func (r *Root) copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.Path(to)), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(r.Path(to), os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// bind shows a file or folder of this machine in the root.
func (r *Root) bind(path string) {
	r.t.Helper()
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		r.Write(path, "")
	}
	if err == nil {
		err = unix.Mount(path, r.Path(path), "", unix.MS_BIND|unix.MS_REC, "")
	}
	if err != nil {
		r.t.Fatalf("show %s in the root: %v", path, err)
	}
}

// Command returns a command that runs in the root as an ordinary user with that id, in its own user
// namespace. The program and the folder of the command are paths in the root, and the files there
// belong to the user.
func (r *Root) Command(uid int, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Chroot: r.dir, Cloneflags: syscall.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: 0, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: 0, Size: 1}},
	}
	return cmd
}
