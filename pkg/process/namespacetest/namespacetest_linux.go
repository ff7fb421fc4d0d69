// Package namespacetest runs a test again in its own namespaces, in which it has rights that an
// ordinary user lacks outside.
package namespacetest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// insideEnv is set in the process that runs the test again.
const insideEnv = "DBTESTER_TEST_NAMESPACE"

// Again reports whether this process runs in its own namespaces: a user namespace and those in
// flags. If not, it runs the test there again with a user id, and the test has nothing more to do.
// The test is skipped where namespaces are not available. In a separate network namespace the
// loopback interface is up.
func Again(t *testing.T, flags uintptr, uid int) (inside bool) {
	t.Helper()
	if os.Getenv(insideEnv) != "" {
		if flags&syscall.CLONE_NEWNET != 0 {
			if err := up("lo"); err != nil {
				t.Fatalf("bring the loopback interface up: %v", err)
			}
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | flags,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch text := string(out); {
	case err != nil && !errors.As(err, &exit):
		t.Skipf("this machine gives no namespaces: %v", err)
	case err != nil:
		t.Errorf("in the namespace: %v\n%s", err, text)
	case strings.Contains(text, "\n--- SKIP: "+t.Name()+" "):
		t.Skip(text)
	default:
		t.Log(text)
	}
	return false
}

// up brings an interface up.
func up(name string) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}

// Inside reports whether [Again] started this process.
func Inside() bool { return os.Getenv(insideEnv) != "" }

// Rights reports whether this process has the rights that [Again] gives: root has them anywhere.
func Rights(t *testing.T, flags uintptr) bool {
	t.Helper()
	return os.Geteuid() == 0 && !Inside() || Again(t, flags, 0)
}
