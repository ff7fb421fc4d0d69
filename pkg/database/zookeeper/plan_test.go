package zookeeper

import (
	"slices"
	"strings"
	"testing"

	"github.com/coreos/dbtester/pkg/database"
)

func member(tools map[string]string) database.Member {
	hosts := Database().Info.FillPorts([]database.Host{{Addr: "10.0.0.1"}, {Addr: "::1"}})
	return database.Member{Index: 1, Hosts: hosts, Dir: "/data/10.0.0.2:3500/member", Tools: tools}
}

func TestPlan(t *testing.T) {
	o := New()
	o.Flags = []string{"-XX:+UseZGC"}
	plan, err := o.Plan(member(map[string]string{toolJars: "/opt/zookeeper"}))
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	command := plan.Commands[0]
	if command.Path != "java" || !slices.Contains(command.Args, "-XX:+UseZGC") {
		t.Errorf("command: %s %q", command.Path, command.Args)
	}
	// A member directory may contain a colon, and its files are still found.
	at := slices.Index(command.Args, "-cp")
	if got := command.Args[at+1]; got != "conf:/opt/zookeeper/*:/opt/zookeeper/lib/*" {
		t.Errorf("class path %s", got)
	}
	config := plan.Files[0].Content
	for _, line := range []string{"server.2=[::1]:2888:3888", "clientPortAddress=::1", "dataDir=/data/10.0.0.2:3500/member/data", "forceSync=yes"} {
		if !strings.Contains(config, line+"\n") {
			t.Errorf("zoo.cfg lacks %q:\n%s", line, config)
		}
	}
	o = &Options{KeyParents: 1}
	if plan, err = o.Plan(member(map[string]string{toolJars: "/opt/zookeeper", toolJava: "/jvm/java"})); err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	if args := plan.Commands[0].Args; strings.HasPrefix(args[0], "-X") || plan.Commands[0].Path != "/jvm/java" {
		t.Errorf("with a heap that is the JVM's affair: %q", args)
	}
	if !strings.Contains(plan.Files[0].Content, "forceSync=no\n") {
		t.Errorf("zoo.cfg syncs:\n%s", plan.Files[0].Content)
	}
}

// With TLS no port is open that speaks anything else.
func TestPlanTLS(t *testing.T) {
	m := member(map[string]string{toolJars: "/opt/zookeeper"})
	m.TLS = &database.TLS{CA: "/pki/ca.pem", Cert: "/pki/member.pem", Key: "/pki/member.pem"}
	plan, err := New().Plan(m)
	if err != nil {
		t.Fatalf("plan a member: %v", err)
	}
	config := plan.Files[0].Content
	for _, line := range []string{
		"secureClientPort=2181", "secureClientPortAddress=::1", "sslQuorum=true",
		"ssl.keyStore.location=/pki/member.pem", "ssl.quorum.trustStore.location=/pki/ca.pem",
	} {
		if !strings.Contains(config, line+"\n") {
			t.Errorf("zoo.cfg lacks %q:\n%s", line, config)
		}
	}
	if strings.Contains(config, "\nclientPort=") {
		t.Errorf("a plaintext port is open:\n%s", config)
	}
}

func TestNoPlan(t *testing.T) {
	good := map[string]string{toolJars: "/opt/zookeeper", toolJava: "/jvm/java"}
	outside, secure := member(good), member(good)
	outside.Index = 2
	secure.TLS = &database.TLS{}
	for want, m := range map[string]database.Member{
		"member 2 of 2":                 outside,
		"named as cert and as key":      secure,
		"no directory of zookeeper's":   member(map[string]string{toolJava: "/jvm/java"}),
		"can't be part of a class path": member(map[string]string{toolJars: "/opt/a:b"}),
	} {
		if _, err := New().Plan(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
