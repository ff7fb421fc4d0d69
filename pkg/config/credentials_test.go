package config

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// secureFile has credentials for all databases and others for some.
const secureFile = `hosts: [10.0.0.1, 10.0.0.2]
tls: {ca: ca.pem, cert: client.pem, key: client-key.pem}
auth: {user: bench, password_file: secrets/etcd}
databases:
  etcd:         {endpoints: ['10.0.1.1:2379']}
  etcd__system: {endpoints: ['10.0.1.1:2379'], tls: {ca: /etc/ssl/cert.pem}, auth: }
  etcd__plain:  {endpoints: ['10.0.1.1:2379'], tls: {}, auth: {}}
  etcd__agents: {tls: {ca: /pki/ca.pem, cert: /pki/m.pem, key: /pki/m.key}, auth: {}}
  consul:       {endpoints: ['10.0.1.1:8500'], auth: {password_env: CONSUL_TOKEN}}
  zetcd:        {tls: {}, auth: {}}
`

func TestCredentials(t *testing.T) {
	e := parse(t, secureFile)
	all := &TLS{CA: "ca.pem", Cert: "client.pem", Key: "client-key.pem"}
	for i, want := range []Database{
		{ID: "etcd", TLS: all, Auth: &Auth{User: "bench", PasswordFile: "secrets/etcd"}},
		{ID: "etcd__system", TLS: &TLS{CA: "/etc/ssl/cert.pem"}},
		{ID: "etcd__plain"},
		{ID: "etcd__agents", TLS: &TLS{CA: "/pki/ca.pem", Cert: "/pki/m.pem", Key: "/pki/m.key"}},
		{ID: "consul", TLS: all, Auth: &Auth{PasswordEnv: "CONSUL_TOKEN"}},
		{ID: "zetcd"},
	} {
		d := e.Databases[i]
		if diff := cmp.Diff(want, Database{ID: d.ID, TLS: d.TLS, Auth: d.Auth}); diff != "" {
			t.Error(diff)
		}
	}
	wantSameAgain(t, "secure", []byte(secureFile))
}

// Only references are shown and recorded, and nothing is read to make them.
func TestCredentialsAreReferences(t *testing.T) {
	t.Setenv("CONSUL_TOKEN", "hunter2")
	e := parse(t, secureFile)
	shown, err := Show(e)
	if err != nil {
		t.Fatalf("show the experiment: %v", err)
	}
	recorded, err := json.Marshal(e)
	if err != nil {
		t.Fatalf("encode as JSON: %v", err)
	}
	for _, text := range []string{string(shown), string(recorded)} {
		for _, reference := range []string{"secrets/etcd", "CONSUL_TOKEN", "client-key.pem", "bench"} {
			if !strings.Contains(text, reference) {
				t.Errorf("%s is not in %s", reference, text)
			}
		}
		if strings.Contains(text, "hunter2") {
			t.Errorf("the password is in %s", text)
		}
	}
}

func TestCredentialsProblems(t *testing.T) {
	const ends = "endpoints: ['a:1']"
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"wrong types": {"tls: x\nauth: [a]\ndatabases: {etcd: {" + ends + "}}\n", []string{
			`1:6: tls: want a mapping, got "x"`, `2:7: auth: want a mapping, got a list`}},
		"unknown keys": {"tls: {crt: x}\nauth: {pasword_env: A}\ndatabases: {etcd: {" + ends + "}}\n", []string{
			`1:7: unknown key "crt" (did you mean "cert"?)`, `2:8: unknown key "pasword_env" (did you mean "password_env"?)`}},
		"half a pair": {"databases:\n  etcd: {" + ends + ", tls: {cert: a}}\n  consul: {" + ends + ", tls: {key: b, cert: ''}}\n", []string{
			`2:42: tls: cert and key belong together; give both`, `3:52: cert: is empty`}},
		// The value is not repeated: it may contain a password.
		"a password": {"auth: {user: a, password: hunter2}\ndatabases: {etcd: {" + ends + "}}\n", []string{
			`1:27: password: this file is shown, recorded and shared; name a file (password_file) or an environment variable (password_env)`}},
		"a password for a variable": {"auth: {user: a, password_env: hunter 2!}\ndatabases: {etcd: {" + ends + "}}\n", []string{
			`1:31: password_env: want the name of a variable, such as ETCD_PASSWORD`}},
		"no password": {"auth: {user: a}\ndatabases: {etcd: {" + ends + "}}\n", []string{
			`1:7: auth: the password is missing; give password_file or password_env`}},
		"two passwords": {"auth:\n  password_file: f\n  password_env: E\ndatabases: {etcd: {" + ends + "}}\n", []string{
			`3:17: password_env: password_file (line 2) gives the password; give one of the two`}},
		"started by agents": {"hosts: [a]\nauth: {password_env: E}\ntls: {ca: /ca, cert: c, key: ./k}\ndatabases: {etcd: , consul: {tls: {ca: /ca}, auth: {}}}\n", []string{
			`2:7: auth: agents start etcd without users; auth is for a cluster that is already running, given by endpoints (auth: {} under etcd leaves it out there)`,
			`3:22: cert: "c" must be absolute: agents read it on their own machines`,
			`3:30: key: "./k" must be absolute: agents read it on their own machines`,
			`4:35: tls: the members of consul, which agents start, need ca, cert and key`}},
		"not for this database": {"tls: {ca: /ca}\ndatabases:\n  etcd: {" + ends + "}\n  zetcd: {" + ends + ", auth: {password_env: E}}\n", []string{
			`1:6: tls: zetcd does not support TLS (tls: {} under zetcd leaves it out there)`,
			`4:37: auth: clients of zetcd do not authenticate here`}},
	} {
		t.Run(name, func(t *testing.T) { wantProblems(t, test.file, test.want) })
	}
}
