package config

import (
	"cmp"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v4"
)

// TLS names the PEM files of encrypted connections. Paths are as the file gives
// them, relative to the working directory like every other path of the file. Of a
// cluster that agents start they are absolute, and the files are there on the
// client and on every member's machine: members serve with what clients show.
type TLS struct {
	// CA signs the members' certificates; "" trusts the system's.
	CA string `json:"ca,omitempty"`
	// Cert and Key are what clients show; "" is nothing.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
}

// Auth says who clients are and where their password is, but not the password: an
// experiment is shown, recorded and shared. One of PasswordFile and PasswordEnv is
// set; they are read when a run starts.
type Auth struct {
	User string `json:"user,omitempty"`
	// PasswordFile holds the password; the end of its last line does not count.
	PasswordFile string `json:"password_file,omitempty"`
	// PasswordEnv names the variable of control's environment that holds it.
	PasswordEnv string `json:"password_env,omitempty"`
}

// tlsSpec and authSpec are what a file says, empty mappings too: those of a
// database undo what the whole file says.
type tlsSpec struct{ ca, cert, key given[string] }

type authSpec struct{ user, passwordFile, passwordEnv given[string] }

func (t tlsSpec) empty() bool { return !t.ca.set() && !t.cert.set() && !t.key.set() }

func (a authSpec) empty() bool {
	return !a.user.set() && !a.passwordFile.set() && !a.passwordEnv.set()
}

func (r *reader) tls(key string, node *yaml.Node) (tlsSpec, bool) {
	var t tlsSpec
	r.fields(key, node, keys{
		"ca":   into(&t.ca, r.filled),
		"cert": into(&t.cert, r.filled),
		"key":  into(&t.key, r.filled),
	})
	if t.cert.set() != t.key.set() && !(hasKey(node, "cert") && hasKey(node, "key")) {
		r.errorf(cmp.Or(t.cert.at, t.key.at), "tls: cert and key belong together; give both")
	}
	return t, true
}

func (r *reader) auth(key string, node *yaml.Node) (authSpec, bool) {
	var a authSpec
	literal := false
	r.fields(key, node, keys{
		"user":          into(&a.user, r.filled),
		"password_file": into(&a.passwordFile, r.filled),
		"password_env":  into(&a.passwordEnv, r.variable),
		"password": func(_ string, n *yaml.Node) {
			literal = true
			r.errorf(n, "password: this file is shown, recorded and shared; name a file (password_file) or a variable of the environment (password_env)")
		},
	})
	switch file, env := a.passwordFile, a.passwordEnv; {
	case file.set() && env.set():
		r.errorf(env.at, "password_env: password_file (line %d) gives the password; give one of the two", file.at.Line)
	case a.user.set() && !file.set() && !env.set() && !literal && !hasKey(node, "password_env", "password_file"):
		r.errorf(node, "auth: where is the password? give password_file or password_env")
	}
	return a, true
}

// hasKey reports whether a mapping itself has one of some keys, whatever their
// values: what is wrong with those was reported.
func hasKey(node *yaml.Node, names ...string) bool {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		for _, name := range names {
			if node.Content[i].Value == name {
				return true
			}
		}
	}
	return false
}

// filled reads a text that is not empty.
func (r *reader) filled(key string, node *yaml.Node) (string, bool) {
	s, ok := r.text(key, node)
	if ok && s == "" {
		r.errorf(node, "%s: is empty", key)
		return "", false
	}
	return s, ok
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable reads the name of a variable. What is none is not repeated: it may be
// the password itself.
func (r *reader) variable(key string, node *yaml.Node) (string, bool) {
	if node.Kind != yaml.ScalarNode || isNull(node) || !variableName.MatchString(node.Value) {
		r.errorf(node, "%s: want the name of a variable, such as ETCD_PASSWORD", key)
		return "", false
	}
	return node.Value, true
}

// tlsOf resolves the files of a database's encrypted connections, nil for
// plaintext: its own, else the file's.
func (r *reader) tlsOf(f *fileSpec, spec *databaseSpec) *TLS {
	t := pick(spec.tls, f.tls)
	if !t.set() || t.is.empty() {
		return nil
	}
	if !spec.entry.TLS {
		r.errorf(t.at, "tls: %s speaks no TLS here%s", spec.entry.Name, undo("tls", spec, spec.tls.set()))
	}
	if !spec.endpoints.set() {
		r.memberTLS(spec, t)
	}
	return &TLS{CA: t.is.ca.is, Cert: t.is.cert.is, Key: t.is.key.is}
}

// memberTLS checks what members that agents start need to serve with.
func (r *reader) memberTLS(spec *databaseSpec, t given[tlsSpec]) {
	if !t.is.ca.set() || !t.is.cert.set() {
		r.errorf(t.at, "tls: the members of %s, which agents start, need ca, cert and key", spec.id)
	}
	for _, file := range []given[string]{t.is.ca, t.is.cert, t.is.key} {
		if file.set() && !filepath.IsAbs(file.is) {
			r.errorf(file.at, "%s: %q is not absolute; agents, which read it on their own machines, work elsewhere", file.key, file.is)
		}
	}
}

// authOf resolves what a database's clients show, nil for nothing: its own, else
// the file's.
func (r *reader) authOf(f *fileSpec, spec *databaseSpec) *Auth {
	a := pick(spec.auth, f.auth)
	if !a.set() || a.is.empty() {
		return nil
	}
	own := spec.auth.set()
	switch {
	case !spec.entry.Auth:
		r.errorf(a.at, "auth: clients of %s show no credentials here%s", spec.entry.Name, undo("auth", spec, own))
	case !spec.endpoints.set():
		r.errorf(a.at, "auth: agents start %s without users; auth is for a cluster that runs already, given by endpoints%s",
			spec.id, undo("auth", spec, own))
	}
	return &Auth{User: a.is.user.is, PasswordFile: a.is.passwordFile.is, PasswordEnv: a.is.passwordEnv.is}
}

// undo says how one database does without what the whole file says.
func undo(key string, spec *databaseSpec, own bool) string {
	if own {
		return ""
	}
	return " (" + key + ": {} under " + spec.id + " leaves it out there)"
}

func showTLS(t *TLS) *yaml.Node {
	var m mapping
	m.addIf(t.CA != "", "ca", text(t.CA))
	m.addIf(t.Cert != "", "cert", text(t.Cert))
	m.addIf(t.Key != "", "key", text(t.Key))
	return flow(m)
}

// showAuth shows where the password is.
func showAuth(a *Auth) *yaml.Node {
	var m mapping
	m.addIf(a.User != "", "user", text(a.User))
	m.addIf(a.PasswordFile != "", "password_file", text(a.PasswordFile))
	m.addIf(a.PasswordEnv != "", "password_env", text(a.PasswordEnv))
	return flow(m)
}
