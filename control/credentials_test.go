package control

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/database/etcd"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

func TestCredentials(t *testing.T) {
	const secret = "hunter2"
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		return path
	}
	t.Setenv("DBTESTER_TEST_SECRET", secret)
	t.Setenv("DBTESTER_TEST_EMPTY", "")
	files, others := databasetest.Certificates(t, "127.0.0.1"), databasetest.Certificates(t, "127.0.0.1")
	for name, tc := range map[string]struct {
		tls      *config.TLS
		auth     *config.Auth
		password string
		problems []string // parts of lines in the error
	}{
		"nothing":            {},
		"a variable":         {auth: &config.Auth{User: "bench", PasswordEnv: "DBTESTER_TEST_SECRET"}, password: secret},
		"a file":             {auth: &config.Auth{PasswordFile: file("plain", secret)}, password: secret},
		"a file with an end": {auth: &config.Auth{PasswordFile: file("line", secret+"\r\n")}, password: secret},
		"spaces are meant":   {auth: &config.Auth{PasswordFile: file("spaces", " "+secret+" \n")}, password: " " + secret + " "},
		"TLS":                {tls: &config.TLS{CA: files.CA, Cert: files.Cert, Key: files.Key}},
		"TLS of the system":  {tls: &config.TLS{Cert: files.Cert, Key: files.Key}},
		"no variable":        {auth: &config.Auth{PasswordEnv: "DBTESTER_TEST_NONE"}, problems: []string{"variable DBTESTER_TEST_NONE is not set or empty"}},
		"an empty variable":  {auth: &config.Auth{PasswordEnv: "DBTESTER_TEST_EMPTY"}, problems: []string{"variable DBTESTER_TEST_EMPTY is not set or empty"}},
		"no file":            {auth: &config.Auth{PasswordFile: dir + "/none"}, problems: []string{"auth: open password file: open " + dir + "/none: no such file"}},
		"an empty file":      {auth: &config.Auth{PasswordFile: file("empty", "\n")}, problems: []string{"is empty"}},
		"a folder":           {auth: &config.Auth{PasswordFile: dir}, problems: []string{"auth: open password file: "}},
		"a long file":        {auth: &config.Auth{PasswordFile: file("long", strings.Repeat(secret, 10_000))}, problems: []string{"is longer than 65536 bytes"}},
		"no certificates": {
			tls:      &config.TLS{CA: dir + "/no-ca", Cert: dir + "/no-cert", Key: dir + "/no-key"},
			auth:     &config.Auth{PasswordEnv: "DBTESTER_TEST_NONE"},
			problems: []string{"tls: read CA: open " + dir + "/no-ca", "tls: read certificate ", "auth: "},
		},
		"no PEM":     {tls: &config.TLS{CA: file("ca", secret)}, problems: []string{"tls: read CA: no certificate in "}},
		"mixed pair": {tls: &config.TLS{Cert: files.Cert, Key: others.Key}, problems: []string{"private key does not match"}},
	} {
		t.Run(name, func(t *testing.T) {
			gotTLS, gotAuth, err := credentials(&config.Database{TLS: tc.tls, Auth: tc.auth})
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			if len(lines) != len(tc.problems) {
				t.Fatalf("got %q, want %q", lines, tc.problems)
			}
			for i, want := range tc.problems {
				if !strings.Contains(lines[i], want) || strings.Contains(lines[i], secret) {
					t.Errorf("got %q, want %q", lines[i], want)
				}
			}
			if err != nil {
				return
			}
			if (gotTLS != nil) != (tc.tls != nil) || gotTLS != nil && *gotTLS != (database.TLS{CA: tc.tls.CA, Cert: tc.tls.Cert, Key: tc.tls.Key}) {
				t.Errorf("TLS is %+v", gotTLS)
			}
			if (gotAuth != nil) != (tc.auth != nil) || gotAuth != nil && *gotAuth != (database.Auth{User: tc.auth.User, Password: tc.password}) {
				t.Errorf("auth is %+v", gotAuth)
			}
		})
	}
}

// Missing credentials are reported for all databases at once, before anything runs.
func TestMissingCredentials(t *testing.T) {
	t.Parallel()
	r := newRigOf(t, database.NewRegistry(etcd.Database()))
	_, err := r.run(r.parse(fmt.Sprintf(`title: locked
results: %s
databases:
  etcd__a: {endpoints: ['127.0.60.255:1'], tls: {ca: /none/ca.pem}}
  etcd__b: {endpoints: ['127.0.60.255:1'], tls: {ca: /none/other.pem}}
`, r.results)), nil)
	for _, want := range []string{"etcd__a: tls: read CA: open /none/ca.pem", "etcd__b: tls: read CA: open /none/other.pem"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := os.Stat(r.results); !os.IsNotExist(err) {
		t.Errorf("a run with bad credentials made a folder of results (%v), want none", err)
	}
}

// Members that agents start serve TLS with files from the experiment, which also authenticate the
// agents and the client.
func TestStartWithTLS(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	r := newRigOf(t, database.NewRegistry(etcd.Database()))
	addrs := []string{"127.0.0.1"} // where connections between loopback addresses come from: etcd looks
	for _, a := range r.agents {
		addrs = append(addrs, a.host)
	}
	files := databasetest.Certificates(t, addrs...)
	out := r.mustRun(r.experiment(fmt.Sprintf("%sdatabases: {etcd: {tls: {ca: '%s', cert: '%s', key: '%s'}, options: {unsafe_no_fsync: true, %s}}}\n",
		small, files.CA, files.Cert, files.Key, steady)), nil)
	rec := r.read(out.Folders[0], 0)
	if rec.run.Totals.OK != 300 {
		t.Errorf("totals %+v", rec.run.Totals)
	}
	for i, m := range rec.run.Members {
		if len(m.Argv) != 1 || !strings.Contains(strings.Join(m.Argv[0], " "), "--cert-file="+files.Cert+" ") || !strings.Contains(strings.Join(m.Argv[0], " "), "https://") {
			t.Errorf("member %d ran %q", i+1, m.Argv)
		}
	}
	wantMarks(t, rec, mark.SharedHost, mark.Secured)
}
