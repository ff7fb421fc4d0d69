package config

import (
	"cmp"
	"path/filepath"
	"regexp"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// tlsSection declares the files for encrypted connections.
func tlsSection() section[TLS] {
	return section[TLS]{
		Fields: []field[TLS]{
			optionalText("ca", "PEM file to check members' certificates with; the system's certificates by default", yamlfile.FilledKind(), func(t *TLS) *string { return &t.CA }),
			optionalText("cert", "PEM file that clients present", yamlfile.FilledKind(), func(t *TLS) *string { return &t.Cert }),
			optionalText("key", "private key for `cert`", yamlfile.FilledKind(), func(t *TLS) *string { return &t.Key }),
		},
		Check: func(r *yamlfile.Reader, w *written[TLS]) {
			if w.Has("cert") != w.Has("key") && !(yamlfile.HasKey(w.Node, "cert") && yamlfile.HasKey(w.Node, "key")) {
				r.Errorf(cmp.Or(w.NodeOf("cert"), w.NodeOf("key")), "tls: cert and key belong together; give both")
			}
		},
	}
}

// authSection declares client credentials.
func authSection() section[Auth] {
	return section[Auth]{
		Fields: []field[Auth]{
			optionalText("user", "user name", yamlfile.FilledKind(), func(a *Auth) *string { return &a.User }),
			optionalText("password_file", "file that holds the password", yamlfile.FilledKind(), func(a *Auth) *string { return &a.PasswordFile }),
			optionalText("password_env", "variable in control's environment that holds the password", variable(), func(a *Auth) *string { return &a.PasswordEnv }),
			{
				Row: row{Name: "password"}, Hidden: true, Copy: func(_, _ *Auth) {},
				Read: func(r *yamlfile.Reader, _, _ string, node *yamlfile.Node, _ *written[Auth]) bool {
					r.Errorf(node, "password: this file is shown, recorded and shared; name a file (password_file) or an environment variable (password_env)")
					return false
				},
			},
		},
		Check: checkAuth,
	}
}

func checkAuth(r *yamlfile.Reader, w *written[Auth]) {
	file, env := w.NodeOf("password_file"), w.NodeOf("password_env")
	switch {
	case file != nil && env != nil:
		r.Errorf(env, "password_env: password_file (line %d) gives the password; give one of the two", file.Line)
	case w.Has("user") && file == nil && env == nil && !yamlfile.HasKey(w.Node, "password", "password_env", "password_file"):
		r.Errorf(w.Node, "auth: the password is missing; give password_file or password_env")
	}
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable accepts an environment variable name. A problem does not repeat a wrong name, because it
// may be the password itself.
func variable() kind[string] {
	k := yamlfile.TextKind()
	k.Parse = func(r *yamlfile.Reader, key string, node *yamlfile.Node) (string, bool) {
		if !yamlfile.IsScalar(node) || !variableName.MatchString(node.Value) {
			r.Errorf(node, "%s: want the name of a variable, such as ETCD_PASSWORD", key)
			return "", false
		}
		return node.Value, true
	}
	k.Schema = schema{"type": "string", "pattern": variableName.String()}
	return k
}

// tls resolves the PEM files for connections to a database: its own, else those at the top of the
// file. It returns nil for plaintext.
func (r *databaseResolver) tls() *TLS {
	t := r.file.tls
	if r.spec.tls.Given() {
		t = r.spec.tls
	}
	if !t.Given() || t.Is == (TLS{}) {
		return nil
	}
	if !r.spec.entry.Info.TLS {
		r.Errorf(t.Node, "tls: %s does not support TLS%s", r.spec.entry.Name, r.undo("tls", r.spec.tls.Given()))
	}
	if !r.db.Has("endpoints") {
		r.memberTLS(t)
	}
	is := t.Is
	return &is
}

// memberTLS checks that members started by agents have the files for serving TLS.
func (r *databaseResolver) memberTLS(t written[TLS]) {
	if !t.Has("ca") || !t.Has("cert") {
		r.Errorf(t.Node, "tls: the members of %s, which agents start, need ca, cert and key", r.spec.ID)
	}
	for _, name := range []string{"ca", "cert", "key"} {
		if file := t.Place(name); file.Set() && !filepath.IsAbs(file.At.Value) {
			r.Errorf(file.At, "%s: %q must be absolute: agents read it on their own machines", file.Key, file.At.Value)
		}
	}
}

// auth resolves the credentials for database clients: its own, else those at the top of the file.
// It returns nil if neither has credentials.
func (r *databaseResolver) auth() *Auth {
	a, own := r.file.auth, r.spec.auth.Given()
	if own {
		a = r.spec.auth
	}
	if !a.Given() || a.Is == (Auth{}) {
		return nil
	}
	switch {
	case !r.spec.entry.Info.Auth:
		r.Errorf(a.Node, "auth: clients of %s do not authenticate here%s", r.spec.entry.Name, r.undo("auth", own))
	case !r.db.Has("endpoints"):
		r.Errorf(a.Node, "auth: agents start %s without users; auth is for a cluster that is already running, given by endpoints%s",
			r.spec.ID, r.undo("auth", own))
	}
	is := a.Is
	return &is
}

// undo returns the end of a message: the way to override a key at the top of the file for one
// database.
func (r *databaseResolver) undo(key string, own bool) string {
	if own {
		return ""
	}
	return " (" + key + ": {} under " + r.spec.ID + " leaves it out there)"
}

func showTLS(d *databaseSpec) *yamlfile.Node {
	if d.TLS == nil {
		return nil
	}
	return tlsSection().Show(d.TLS).Flow()
}

// showAuth shows where the password is, never the password.
func showAuth(d *databaseSpec) *yamlfile.Node {
	if d.Auth == nil {
		return nil
	}
	return authSection().Show(d.Auth).Flow()
}
