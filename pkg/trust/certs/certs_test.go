package certs_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/pkg/trust/certs"
)

// folder makes a CA with certificates for two agents.
func folder(t *testing.T, now time.Time) certs.Folder {
	t.Helper()
	f := certs.Folder{Path: filepath.Join(t.TempDir(), "certs"), Now: now}
	if _, err := f.Init([]string{"127.0.0.1", "db2.example"}); err != nil {
		t.Fatalf("make the certificates: %v", err)
	}
	return f
}

func TestInit(t *testing.T) {
	f := folder(t, time.Now())
	for name, mode := range map[string]fs.FileMode{
		"ca.pem": 0o644, "ca-key.pem": 0o600,
		"control/ca.pem": 0o644, "control/cert.pem": 0o644, "control/key.pem": 0o600,
		"agent-127.0.0.1/ca.pem": 0o644, "agent-127.0.0.1/cert.pem": 0o644, "agent-127.0.0.1/key.pem": 0o600,
		"agent-db2.example/key.pem": 0o600,
	} {
		info, err := os.Stat(filepath.Join(f.Path, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want mode %v", name, info, err, mode)
		}
	}
	before := everything(t, f.Path)
	if _, err := f.Init([]string{"127.0.0.1"}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "ca-key.pem") || !strings.Contains(err.Error(), "--force") {
		t.Errorf("a second init: %v", err)
	}
	if _, err := f.IssueControl(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second certificate for control: %v", err)
	}
	if everything(t, f.Path) != before {
		t.Errorf("files changed without force")
	}
	f.Force = true
	if _, err := f.IssueControl(); err != nil || everything(t, f.Path) == before {
		t.Errorf("a second certificate for control with force: %v", err)
	}
	f.Force = false
	if dir, err := f.IssueAgent([]string{"db3", "10.0.0.3"}); err != nil || filepath.Base(dir) != "agent-db3" {
		t.Errorf("a third agent: %q, %v", dir, err)
	}
}

// everything returns the contents of all files below dir.
func everything(t *testing.T, dir string) (text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var data []byte
			data, err = os.ReadFile(path)
			text += path + "\n" + string(data)
		}
		return err
	})
	if err != nil {
		t.Fatalf("read the files: %v", err)
	}
	return text
}

// An init that is refused leaves nothing.
func TestInitRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		hosts []string
		life  time.Duration
		text  string
	}{
		"no host":         {nil, 0, "name the hosts"},
		"a host twice":    {[]string{"a", "a"}, 0, `"a" is given twice`},
		"a path":          {[]string{"../a"}, 0, "host name"},
		"every address":   {[]string{"0.0.0.0"}, 0, "to one machine"},
		"negative life":   {[]string{"a"}, -time.Hour, "live for up to 3650 days"},
		"a life too long": {[]string{"a"}, certs.LongestLife + time.Hour, "live for up to 3650 days"},
	} {
		dir := filepath.Join(t.TempDir(), "certs")
		_, err := certs.Folder{Path: dir, Now: time.Now(), Life: test.life}.Init(test.hosts)
		if err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %q", name, err, test.text)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the folder was made: %v", name, err)
		}
	}
}

// A certificate must not outlive its CA.
func TestIssueOutlives(t *testing.T) {
	f := folder(t, time.Now().Add(-4*365*24*time.Hour))
	f.Now, f.Life = time.Now(), 2*365*24*time.Hour
	if _, err := f.IssueAgent([]string{"db3"}); err == nil || !strings.Contains(err.Error(), "the CA itself expires on") {
		t.Errorf("a certificate that outlives its CA: %v", err)
	}
	f.Path = t.TempDir()
	if _, err := f.IssueAgent([]string{"db3"}); err == nil || !strings.Contains(err.Error(), "no CA in") {
		t.Errorf("a certificate without a CA: %v", err)
	}
}

func TestShow(t *testing.T) {
	now := time.Now()
	f := folder(t, now)
	if err := os.Chmod(filepath.Join(f.Path, "control", certs.FileKey), 0o644); err != nil {
		t.Fatalf("expose the key: %v", err)
	}
	list, err := certs.Show(f.Path)
	if err != nil {
		t.Fatalf("show the certificates: %v", err)
	}
	roles := map[certs.Role]int{}
	for _, i := range list {
		roles[i.Role]++
		if exposed := strings.HasSuffix(i.Path, "control/cert.pem"); (i.KeyExposed != nil) != exposed {
			t.Errorf("%s: key exposed: %v", i.Path, i.KeyExposed)
		}
		if i.Role == certs.RoleAgent && strings.Join(i.Hosts, ",") != strings.TrimPrefix(filepath.Base(filepath.Dir(i.Path)), "agent-") {
			t.Errorf("%s is for %v", i.Path, i.Hosts)
		}
		if i.Role == certs.RoleCA {
			continue
		}
		for after, want := range map[time.Duration]string{
			0: "", 330 * 24 * time.Hour: "", 350 * 24 * time.Hour: "expires on ", 365 * 24 * time.Hour: "expired on ", -2 * time.Hour: "is not valid before",
		} {
			if got := i.Warning(now.Add(after)); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
				t.Errorf("%s, %v later: %q, want %q", i.Path, after, got, want)
			}
		}
	}
	if roles[certs.RoleCA] != 4 || roles[certs.RoleAgent] != 2 || roles[certs.RoleControl] != 1 {
		t.Errorf("certificates by role: %v", roles)
	}
	if _, err := certs.Show(t.TempDir()); err == nil {
		t.Errorf("an empty folder is shown")
	}
}

// Another implementation reads the certificates alike.
func TestOpenSSL(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("no openssl")
	}
	f := folder(t, time.Now())
	for _, test := range []struct {
		purpose, dir string
		ok           bool
	}{
		{"sslserver", "agent-127.0.0.1", true}, {"sslclient", "agent-127.0.0.1", false},
		{"sslclient", "control", true}, {"sslserver", "control", false},
	} {
		out, err := exec.Command("openssl", "verify", "-x509_strict", "-purpose", test.purpose,
			"-CAfile", filepath.Join(f.Path, "ca.pem"), filepath.Join(f.Path, test.dir, "cert.pem")).CombinedOutput()
		if (err == nil) != test.ok {
			t.Errorf("%s as %s: %v\n%s", test.dir, test.purpose, err, out)
		}
	}
	out, err := exec.Command("openssl", "x509", "-noout", "-text", "-in", filepath.Join(f.Path, "ca.pem")).CombinedOutput()
	for _, want := range []string{"CA:TRUE, pathlen:0", "prime256v1", "Certificate Sign"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the CA is not %q: %v\n%s", want, err, out)
		}
	}
}
