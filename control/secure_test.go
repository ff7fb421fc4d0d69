package control

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	tlscredentials "google.golang.org/grpc/credentials"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/databasetest"
	"github.com/coreos/dbtester/pkg/mark"
	"github.com/coreos/dbtester/pkg/sleep/slowtest"
)

// A running cluster with TLS and users accepts only loads by permitted users; others get an error
// at once. The password appears nowhere in output or records.
func TestSecureEndpoints(t *testing.T) {
	slowtest.Skip(t)
	t.Parallel()
	const password = "hunter2-3f9c"
	var files *database.TLS
	r := startEtcdWith(t, func(addrs []string) *database.TLS {
		files = databasetest.Certificates(t, append(addrs, "127.0.0.1")...) // where members come from
		return files
	}, steady)
	enableUsers(t, files, r.endpoints[0], database.Auth{User: "root", Password: password})
	secrets := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(secrets, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatalf("write a file for the test: %v", err)
		}
		return path
	}
	right, wrong := write("right", password+"\n"), write("wrong", "not-"+password)
	file := func(auth string) string {
		return r.file("requests: 120, clients: 6, connections: 6, key_size: 32, value_size: 64") +
			fmt.Sprintf("tls: {ca: '%s', cert: '%s', key: '%s'}\nauth: {%s}\n", files.CA, files.Cert, files.Key, auth)
	}
	for _, tc := range []struct{ name, auth, want string }{
		{"right", "user: root, password_file: '" + right + "'", ""},
		{"wrong", "user: root, password_file: '" + wrong + "'", "authentication failed"},
		{"none", "", "denied"},
	} {
		var told, logged bytes.Buffer
		e := r.parse(file(tc.auth))
		o := r.options(e, func(u Update) { fmt.Fprintf(&told, "%+v\n", u) })
		o.Log = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		out, err := r.answered(func() (*Outcome, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
			defer cancel()
			return Run(ctx, o)
		})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "no quorum within") {
			t.Errorf("%s: a denial must not wait for the ready time-out: %v", tc.name, err)
		}
		kept := contents(t, out.Folders[0])
		for where, text := range map[string]string{"updates": told.String(), "log": logged.String(), "error": fmt.Sprint(err), "folder": kept} {
			if strings.Contains(text, password) {
				t.Errorf("%s: the password is in the %s", tc.name, where)
			}
		}
		if tc.want != "" {
			continue
		}
		if !strings.Contains(kept, right) || !strings.Contains(kept, files.Key) {
			t.Error("the manifest does not say where the password and the key are")
		}
		rec := r.read(out.Folders[0], 0)
		if rec.run.Totals.OK != 120 || rec.run.Keys.Found() != 120 {
			t.Errorf("totals %+v, keys %+v", rec.run.Totals, rec.run.Keys)
		}
		wantMarks(t, rec, mark.KeysLeft, mark.SharedHost, mark.Secured, mark.Unmeasured)
		r.mustBeAsked(rec)
	}
}

// contents returns all files in a folder in one text.
func contents(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatalf("read the file: %v", err)
	}
	return all.String()
}

// enableUsers restricts an etcd to root.
func enableUsers(t *testing.T, files *database.TLS, endpoint string, root database.Auth) {
	t.Helper()
	config, err := files.Config()
	if err != nil {
		t.Fatalf("read the configuration: %v", err)
	}
	conn, err := grpc.NewClient("passthrough:///"+endpoint, grpc.WithTransportCredentials(tlscredentials.NewTLS(config)))
	if err != nil {
		t.Fatalf("make a gRPC client: %v", err)
	}
	defer conn.Close()
	users := pb.NewAuthClient(conn)
	for _, do := range []func() error{
		func() error {
			_, err := users.UserAdd(t.Context(), &pb.AuthUserAddRequest{Name: root.User, Password: root.Password, Options: &authpb.UserAddOptions{}})
			return err
		},
		func() error {
			_, err := users.RoleAdd(t.Context(), &pb.AuthRoleAddRequest{Name: "root"})
			return err
		},
		func() error {
			_, err := users.UserGrantRole(t.Context(), &pb.AuthUserGrantRoleRequest{User: root.User, Role: "root"})
			return err
		},
		func() error {
			_, err := users.AuthEnable(t.Context(), &pb.AuthEnableRequest{})
			return err
		},
	} {
		if err := do(); err != nil {
			t.Fatalf("set up users: %v", err)
		}
	}
}
