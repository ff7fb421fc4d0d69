package zookeeper

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
)

// Paths below the member directory.
const (
	confDir = "conf"
	dataDir = "data"    // snapshots and myid
	logDir  = "datalog" // the transaction log
)

// mainClass runs a member, alone or as part of a quorum.
const mainClass = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

// Servers log to standard output through Logback from 3.8 on, and through Log4j before.
// Both find their file on the class path, and ignore the other one.
var (
	//go:embed conf/logback.xml
	logback string
	//go:embed conf/log4j.properties
	log4j string
)

// Plan returns one command, named "zookeeper": the JVM on the server jars. Every version from 3.4
// to 3.9 accepts these files; settings newer than the version become system properties, which are
// ignored. TLS needs 3.5.5 or newer.
func (o *Options) Plan(m database.Member) (database.Plan, error) {
	switch {
	case m.Index < 0 || m.Index >= len(m.Hosts):
		return database.Plan{}, fmt.Errorf("plan zookeeper: member %d of %d", m.Index, len(m.Hosts))
	case m.TLS != nil && (m.TLS.CA == "" || m.TLS.Cert == "" || m.TLS.Cert != m.TLS.Key):
		return database.Plan{}, errors.New("plan zookeeper: for TLS a member needs a ca, and certificate and key in one PEM file, which is named as cert and as key")
	}
	jars, java, err := tools(m.Tools)
	if err != nil {
		return database.Plan{}, fmt.Errorf("plan zookeeper: %w", err)
	}
	self := m.Self()
	listen := []string{address(self, "client"), address(self, "peer"), address(self, "election")}
	if o.AdminPort > 0 {
		listen = append(listen, net.JoinHostPort(self.Addr, strconv.Itoa(o.AdminPort)))
	}
	return database.Plan{
		Files: []database.File{
			{Path: filepath.Join(confDir, "zoo.cfg"), Content: o.config(m)},
			{Path: filepath.Join(confDir, "logback.xml"), Content: logback},
			{Path: filepath.Join(confDir, "log4j.properties"), Content: log4j},
			{Path: filepath.Join(dataDir, "myid"), Content: strconv.Itoa(serverID(m.Index)) + "\n"},
		},
		Commands: []database.Command{{Name: Name, Path: java, Args: o.args(m, jars)}},
		DataDirs: []string{dataDir, logDir},
		Listen:   listen,
		LogRules: logRules(), LogTimes: logTimes(),
		Metrics: metrics(m),
	}, nil
}

// tools returns the directory with the jars, and the JVM: the one in the PATH if the tools lack it.
func tools(given map[string]string) (jars, java string, err error) {
	jars, java = given[toolJars], given[toolJava]
	switch {
	case jars == "":
		return "", "", errors.New("no directory of zookeeper's jars: it is not built in")
	case strings.ContainsRune(jars, filepath.ListSeparator):
		return "", "", fmt.Errorf("the directory of jars %q can't be part of a class path", jars)
	}
	if java == "" {
		java = toolJava
	}
	return jars, java, nil
}

// args returns the arguments for the JVM. The jars are those in the directory and in its folder
// lib, so it may be a directory of jars or an unpacked release. The folder with the logging
// configuration is relative to the working directory, the member's own, whose path may contain the
// character that separates a class path.
func (o *Options) args(m database.Member, jars string) []string {
	var args []string
	if o.JavaXms != "" {
		args = append(args, "-Xms"+o.JavaXms)
	}
	if o.JavaXmx != "" {
		args = append(args, "-Xmx"+o.JavaXmx)
	}
	args = append(args, "-Djute.maxbuffer="+strconv.Itoa(o.JuteMaxBuffer), "-Duser.timezone=UTC") // log lines name no zone
	args = append(args, o.Flags...)
	classPath := []string{confDir, filepath.Join(jars, "*"), filepath.Join(jars, "lib", "*")}
	return append(args, "-cp", strings.Join(classPath, string(filepath.ListSeparator)),
		mainClass, filepath.Join(m.Dir, confDir, "zoo.cfg"))
}

// config returns the text of zoo.cfg. Every listener is on the member address.
func (o *Options) config(m database.Member) string {
	var b strings.Builder
	set := func(name string, value any) { fmt.Fprintf(&b, "%s=%s\n", name, escape(fmt.Sprint(value))) }
	set("tickTime", o.TickTime)
	set("initLimit", o.InitLimit)
	set("syncLimit", o.SyncLimit)
	set("dataDir", filepath.Join(m.Dir, dataDir))
	set("dataLogDir", filepath.Join(m.Dir, logDir))
	if m.TLS == nil {
		set("clientPort", m.Self().Ports["client"])
		set("clientPortAddress", m.Self().Addr)
	} else {
		secure(set, m)
	}
	set("clientPortListenBacklog", o.ListenBacklog)
	set("maxClientCnxns", o.MaxClientConnections)
	set("snapCount", o.SnapCount)
	set("preAllocSize", o.PreAllocSize)
	set("forceSync", map[bool]string{true: "yes", false: "no"}[o.ForceSync])
	// Nothing is purged, so the size on disk is that of everything written.
	set("autopurge.purgeInterval", 0)
	o.setAdmin(set, m)
	set("4lw.commands.whitelist", "ruok,srvr,mntr,conf,cons,stat")
	// The time in which threads did not run is among the member metrics.
	set("jvm.pause.monitor", true)
	for i, h := range m.Hosts {
		set(fmt.Sprintf("server.%d", serverID(i)), fmt.Sprintf("%s:%d", address(h, "peer"), h.Ports["election"]))
	}
	return b.String()
}

// secure sets the keys with which a member speaks only TLS, to clients and to the other
// members, and requires a certificate from each. TLS uses Netty instead of the standard network
// code, so results with and without TLS do not compare.
func secure(set func(string, any), m database.Member) {
	set("serverCnxnFactory", "org.apache.zookeeper.server.NettyServerCnxnFactory")
	set("secureClientPort", m.Self().Ports["client"])
	set("secureClientPortAddress", m.Self().Addr)
	set("sslQuorum", true)
	for _, prefix := range []string{"ssl.", "ssl.quorum."} {
		set(prefix+"keyStore.type", "PEM")
		set(prefix+"keyStore.location", m.TLS.Cert)
		set(prefix+"trustStore.type", "PEM")
		set(prefix+"trustStore.location", m.TLS.CA)
	}
}

// serverID counts from 1, as the classic tool did.
func serverID(index int) int { return index + 1 }

func address(h database.Host, role string) string {
	return net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports[role]))
}
