package generator

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	pb "github.com/coreos/dbtester/dbtesterpb"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		targets  string
		endpoint string
		refused  string // the flag the refusal names, "" if the endpoint is allowed
	}{
		{"reserved", "10.0.0.1:2379", ""},
		{"reserved", "[::ffff:10.0.0.1]:2379", ""},
		{"reserved", "[fd00::1]:2379", ""},
		{"reserved", "MEMBER-1:2379", ""},
		{"reserved", "10.0.0.2:2379", "reserved,10.0.0.2/32"},
		{"reserved", "[fd00::2]:2379", "reserved,fd00::2/128"},
		{"reserved", "member-2:2379", "reserved,member-2"},
		{"", "10.0.0.1:2379", "10.0.0.1/32"},
		{"10.1.0.0/16", "10.1.2.3:2379", ""},
		{"10.1.2.9/16", "10.1.255.3:2379", ""},
		{"10.1.0.0/16", "[::ffff:10.1.2.3]:2379", ""},
		{"10.1.0.0/16", "10.0.0.1:2379", "10.1.0.0/16,10.0.0.1/32"},
		{"::ffff:10.1.0.0/112", "10.1.2.3:2379", ""},
		{"10.1.2.3", "10.1.2.3:1", ""},
		{"10.1.2.3", "10.1.2.4:1", "10.1.2.3,10.1.2.4/32"},
		{"fd00::/64", "[fd00::77]:2379", ""},
		{"fe80::/64", "[fe80::1%eth0]:2379", "fe80::/64,fe80::1/128"},
		{"Store.example.org,reserved", "store.EXAMPLE.org:2379", ""},
		{"store.example.org", "store.example.org.evil:2379", "store.example.org,store.example.org.evil"},
		{"0.0.0.0/0", "169.254.169.254:80", ""},
		{"0.0.0.0/0", "[fd00::1]:80", "0.0.0.0/0,fd00::1/128"},
	} {
		texts := strings.FieldsFunc(tc.targets, func(r rune) bool { return r == ',' })
		targets, err := ParseTargets(texts)
		if err != nil {
			t.Errorf("%s: %v", tc.targets, err)
			continue
		}
		err = targets.check([]string{tc.endpoint}, []string{"10.0.0.1", "fd00::1", "member-1"})
		switch {
		case tc.refused == "" && err != nil:
			t.Errorf("%q does not allow %s: %v", tc.targets, tc.endpoint, err)
		case tc.refused != "":
			wantCode(t, err, codes.PermissionDenied)
			if !strings.HasSuffix(err.Error(), "start its agent with --allow-targets "+tc.refused) {
				t.Errorf("%q and %s: %v, want the flag %s", tc.targets, tc.endpoint, err, tc.refused)
			}
		}
	}
	for _, bad := range []string{"", "10.0.0.0/33", "10.0.0.1:2379", "10.0.0.256", "a b", "http://x", "-x", "fe80::1%eth0"} {
		if _, err := ParseTargets([]string{bad}); err == nil {
			t.Errorf("%q is read as a target", bad)
		}
	}
}

// TestTargetsAreChecked: a load to an address that is not allowed is refused before it is
// prepared, and leaves the generator free.
func TestTargetsAreChecked(t *testing.T) {
	s := newStore()
	c := serve(t, allowed(s))
	for _, reserved := range [][]string{nil, {"127.0.0.1", "127.0.0.2"}} {
		req := prepare(t, "run1", writes(), 0, 1)
		req.Reserved = reserved
		_, err := c.Prepare(t.Context(), req)
		wantCode(t, err, codes.PermissionDenied, "may not connect to", "127.0.0.3/32", "--allow-targets reserved,")
	}
	mustPrepare(t, c, prepare(t, "run2", writes(), 0, 1))
}

func TestSecrets(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(dir, "password"), filepath.Join(other, "password")} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"inside": "password", "outside": filepath.Join(other, "password"), "up": "../" + filepath.Base(other)} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	s := Secrets{Dirs: []string{dir}, Variables: []string{"DBTESTER_PASSWORD"}}
	for name, tc := range map[string]struct {
		secrets Secrets
		file    string
		env     string
		code    codes.Code
		texts   []string
	}{
		"a file":                  {s, filepath.Join(dir, "password"), "", codes.OK, nil},
		"a link inside":           {s, filepath.Join(dir, "inside"), "", codes.OK, nil},
		"no such file":            {s, filepath.Join(dir, "none"), "", codes.OK, nil}, // reading it says so
		"a link that leads out":   {s, filepath.Join(dir, "outside"), "", codes.PermissionDenied, []string{"leads out of"}},
		"a folder that leads out": {s, filepath.Join(dir, "up", "password"), "", codes.PermissionDenied, []string{"leads out of"}},
		"another folder":          {s, filepath.Join(other, "password"), "", codes.PermissionDenied, []string{"is not below", "--secrets-dir " + other}},
		"a longer name":           {s, dir + "-2/password", "", codes.PermissionDenied, []string{"--secrets-dir " + dir + "-2"}},
		"the folder itself":       {s, dir, "", codes.PermissionDenied, nil},
		"no plain path":           {s, dir + "/../password", "", codes.InvalidArgument, []string{"plain absolute path"}},
		"no folder":               {Secrets{}, filepath.Join(dir, "password"), "", codes.PermissionDenied, []string{"reads no files of secrets", "--secrets-dir " + dir}},
		"a variable":              {s, "", "DBTESTER_PASSWORD", codes.OK, nil},
		"another variable":        {s, "", "AWS_SECRET_ACCESS_KEY", codes.PermissionDenied, []string{"--secrets-env AWS_SECRET_ACCESS_KEY"}},
		"no variable":             {Secrets{}, "", "DBTESTER_PASSWORD", codes.PermissionDenied, []string{"--secrets-env DBTESTER_PASSWORD"}},
	} {
		req := &pb.PrepareRequest{Auth: &pb.ClientAuth{PasswordFile: tc.file, PasswordEnv: tc.env}}
		err := tc.secrets.check(req)
		wantCode(t, err, tc.code)
		for _, text := range tc.texts {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, want %q", name, err, text)
			}
		}
		if err != nil && slices.Contains([]codes.Code{codes.OK}, tc.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	both := &pb.PrepareRequest{Tls: &pb.ClientTLS{Ca: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(other, "a.pem"), Key: filepath.Join(other, "k.pem")}}
	wantCode(t, s.check(both), codes.PermissionDenied, "tls cert", "tls key", "start its agent with --secrets-dir "+other)
}
