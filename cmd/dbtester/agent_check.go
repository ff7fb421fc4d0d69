package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	humanize "github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"

	"github.com/coreos/dbtester/agent"
	"github.com/coreos/dbtester/agent/generator"
	"github.com/coreos/dbtester/pkg/fault"
	"github.com/coreos/dbtester/pkg/fault/owndisk"
	"github.com/coreos/dbtester/pkg/install"
	"github.com/coreos/dbtester/pkg/machine/diskcheck"
	"github.com/coreos/dbtester/pkg/machine/roundtrip"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/process/cgroup"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/trust/certs"
	"github.com/coreos/dbtester/pkg/trust/usertoken"
)

const (
	// checkDuration and checkCount bound the writes to the disk: a p99.9 needs that many.
	checkDuration = 3 * time.Second
	checkCount    = 10_000
	// javaTimeout bounds the query for the JVM version.
	javaTimeout = 15 * time.Second
)

// agentCheck prints the settings and resources an agent would use.
type agentCheck struct {
	*app
	flags agentFlags
	tools map[string]string
	w     *tabwriter.Writer
	// problems are the reasons why the agent could not start.
	problems []error
}

// checkAgent prints the settings and resources that an agent with these flags would use on this
// machine. It starts nothing and leaves nothing behind. The error names everything that prevents
// the agent from starting; a wrong flag is a usageError, as at a start.
func (a *app) checkAgent(ctx context.Context, f agentFlags) error {
	if err := f.check(); err != nil {
		return usageError{err}
	}
	tools, err := f.tools.paths()
	if err != nil {
		return err
	}
	c := &agentCheck{app: a, flags: f, tools: tools, w: tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)}
	callers, err := c.callers()
	if err != nil {
		return err
	}
	if err := c.facts(ctx, callers); err != nil {
		return errors.Join(c.w.Flush(), err)
	}
	err = errors.Join(c.problems...)
	if err == nil {
		c.say("usable", "yes")
	} else {
		c.say("usable", "no")
	}
	return errors.Join(c.w.Flush(), err)
}

// facts prints everything an agent would use. Its only error is an interrupt, after which the
// caller must not continue.
func (c *agentCheck) facts(ctx context.Context, callers string) error {
	c.say("address", "%s", c.address())
	c.say("lets in", "%s", callers)
	c.directory(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.network()
	if err := c.roundTrips(ctx); err != nil {
		return err
	}
	c.software(ctx)
	c.ports()
	c.machine()
	c.limits()
	return nil
}

// say prints one fact.
func (c *agentCheck) say(name, format string, args ...any) {
	fmt.Fprintf(c.w, "%s\t%s\n", name, fmt.Sprintf(format, args...))
}

// problem records why the agent could not start, and returns the reason as text.
func (c *agentCheck) problem(err error) string {
	c.problems = append(c.problems, err)
	return err.Error()
}

// callers describes the callers that the agent would admit, as [linkFlags.server] decides.
func (c *agentCheck) callers() (string, error) {
	source, err := c.flags.link.open(c.app, certs.RoleAgent, slog.New(slog.DiscardHandler))
	switch {
	case err != nil:
		return "", err
	case source != nil:
		i := source.Info()
		return fmt.Sprintf("control of the same CA, by TLS as %s (certificate until %s)", strings.Join(i.Hosts, ", "), i.Until.UTC().Format(time.DateOnly)), nil
	case c.flags.link.insecure:
		return "anyone who reaches it (--insecure)", nil
	}
	if err := agent.CheckListen(c.flags.listen, false); err != nil {
		return "", usageError{err}
	}
	path, err := c.flags.link.tokenFile()
	if err != nil {
		return "", err
	}
	if _, err := usertoken.Read(path); errors.Is(err, fs.ErrNotExist) {
		return "processes that know the token in " + path + ", which a start makes", nil
	} else if err != nil {
		return c.problem(err), nil
	}
	return "processes that know the token in " + path, nil
}

// address describes the address and whether it is free.
func (c *agentCheck) address() string {
	listener, err := net.Listen("tcp", c.flags.listen)
	if err != nil {
		return fmt.Sprintf("%s: %s", c.flags.listen, c.problem(fmt.Errorf("--agent-port: %w", err)))
	}
	listener.Close()
	return c.flags.listen + ", free"
}

// directory prints the work directory and its disk.
func (c *agentCheck) directory(ctx context.Context) {
	dir, err := c.flags.workDirectory()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		c.say("work directory", "%s", c.problem(err))
		return
	}
	there, err := nearestDir(dir)
	if err != nil {
		c.say("work directory", "%s: %s", dir, c.problem(err))
		return
	}
	if err := tryFolder(there); err != nil {
		c.say("work directory", "%s: %s", dir, c.problem(fmt.Errorf("no folder can be made in %s: %w", there, err)))
		return
	}
	note := ""
	if there != dir {
		note = ", to be made"
	}
	disk, err := sysmetrics.DiskFacts(there)
	var free unix.Statfs_t
	if err == nil {
		err = unix.Statfs(there, &free)
	}
	if err != nil {
		c.say("work directory", "%s%s; its file system is not known: %v", dir, note, err)
	} else {
		c.say("work directory", "%s%s, on %s (%s)", dir, note, disk.Filesystem, disk.MountOptions)
		c.say("free space", "%s of %s", humanize.Bytes(free.Bavail*uint64(free.Bsize)), humanize.Bytes(free.Blocks*uint64(free.Bsize)))
		c.say("disk", "%s", strings.Join(slices.DeleteFunc([]string{c.device(disk.Device), disk.Model, disk.Queue}, func(s string) bool { return s == "" }), ", "))
	}
	report, err := c.checkDisk(ctx, there, diskcheck.Options{Duration: checkDuration, Count: checkCount})
	if err != nil {
		if keepsFromWriting(err) {
			c.problem(err)
		}
		c.say("disk writes", "not measured: %v", err)
		return
	}
	c.say("disk writes", "%s", report.Line())
	c.say("disk verdict", "%s (%s)", report.Sentence(), report.Source)
	if report.Warning != "" {
		c.say("disk warning", "%s", report.Warning)
	}
}

// tryFolder makes and removes a folder in dir, as agents do.
func tryFolder(dir string) error {
	made, err := os.MkdirTemp(dir, ".dbtester-check-*")
	if err != nil {
		var failed *fs.PathError
		if errors.As(err, &failed) {
			return failed.Err // without the random name
		}
		return err
	}
	return os.Remove(made)
}

// keepsFromWriting reports whether err, from measuring a disk, would also prevent agents from
// writing. Too little space for the check would not.
func keepsFromWriting(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS)
}

// roundTrips prints the round trip to each peer. An unreachable peer does not prevent an agent from
// starting. The only error is an interrupt.
func (c *agentCheck) roundTrips(ctx context.Context) error {
	peers, err := c.flags.peerAddresses()
	if err != nil {
		return err // cannot happen: already checked
	}
	trips, err := roundtrip.Measure(ctx, (&net.Dialer{}).DialContext, peers)
	for _, trip := range trips {
		c.say("round trip", "%s: %s", trip.Address, trip.Describe(diskcheck.Text))
	}
	return err
}

// peerAddresses returns the --peers addresses, with this agent's port where they name no port.
func (f agentFlags) peerAddresses() ([]string, error) {
	_, port, err := net.SplitHostPort(f.listen)
	if err != nil {
		port = agentPort // check reports the address
	}
	return roundtrip.Addresses(f.peers, port)
}

// nearestDir returns the directory, or its nearest existing parent.
func nearestDir(dir string) (string, error) {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return "", fmt.Errorf("%s must be a directory", dir)
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir:
			return "", err
		}
		dir = filepath.Dir(dir)
	}
}

// device returns the block device that would be sampled.
func (c *agentCheck) device(found string) string {
	switch {
	case c.flags.device != "":
		return c.flags.device + " (--disk-device)"
	case found == "":
		return "no block device"
	}
	return found
}

// network prints the interface that would be sampled.
func (c *agentCheck) network() {
	if c.flags.iface != "" {
		c.say("interface", "%s (--network-interface)", c.flags.iface)
		return
	}
	host, _, _ := net.SplitHostPort(c.flags.listen) // already checked
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = ""
	}
	name, err := sysmetrics.Interface(host)
	if err != nil {
		c.say("interface", "not known: %v", err)
		return
	}
	c.say("interface", "%s, for members with the agent's address", name)
}

// software prints the releases and executables that members could run.
func (c *agentCheck) software(ctx context.Context) {
	dir, err := cacheDir(c.flags.cache)
	if err != nil {
		c.say("cache", "%s", c.problem(err))
	} else {
		releases, err := (&install.Installer{Cache: dir}).List()
		var names []string
		for _, r := range releases {
			names = append(names, r.Name+" "+r.Version)
		}
		if len(names) == 0 {
			names = []string{"no releases"}
		}
		c.say("cache", "%s: %s", dir, strings.Join(names, ", "))
		if err != nil {
			c.say("", "unusable: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		c.say("executable", "%s: %s", name, c.tools[name])
	}
	c.say("java", "%s", javaText(ctx, c.tools["java"]))
}

// javaText describes the JVM on which members would run, with its version.
func javaText(ctx context.Context, given string) string {
	path := given
	if path == "" {
		var err error
		if path, err = exec.LookPath("java"); err != nil {
			return "none in PATH (--java-exec names one)"
		}
	}
	ctx, cancel := context.WithTimeout(ctx, javaTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-version")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s, which does not run: %v", path, err)
	}
	version, _, _ := strings.Cut(string(out), "\n")
	return fmt.Sprintf("%s, %s", path, strings.TrimSpace(version))
}

// ports prints whether the default ports of each database are free.
func (c *agentCheck) ports() {
	host, _, _ := net.SplitHostPort(c.flags.listen) // already checked
	for _, d := range c.registry.All() {
		var list []string
		for _, role := range slices.Sorted(maps.Keys(d.Info.Ports)) {
			state := "free"
			listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(d.Info.Ports[role])))
			if err != nil {
				state = "TAKEN"
			} else {
				listener.Close()
			}
			list = append(list, fmt.Sprintf("%s %d %s", role, d.Info.Ports[role], state))
		}
		c.say("ports of "+d.Name, "%s", strings.Join(list, ", "))
	}
}

// machine prints the clock and the limits.
func (c *agentCheck) machine() {
	host, err := sysmetrics.HostFacts()
	if err != nil {
		c.say("machine", "some facts are not known: %v", err)
	}
	switch {
	case host.ClockSync == "":
		c.say("clock", "not known whether a time service keeps it")
	case host.ClockMaxError > 0:
		c.say("clock", "%s by %s, off by at most %v, likely %v", host.ClockSync, cmp.Or(host.TimeService, "a time service"), host.ClockMaxError, host.ClockEstError)
	default:
		c.say("clock", "%s by %s", host.ClockSync, cmp.Or(host.TimeService, "a time service"))
	}
	c.say("processors", "%g of %d may be used", host.AllowedCPUs(), host.AllCPUs())
	memory := humanize.Bytes(uint64(host.MemoryBytes))
	if limit, err := sysmetrics.MemoryLimit(); err != nil {
		memory += fmt.Sprintf(", its limit is not known: %v", err)
	} else if limit > 0 {
		memory += ", of which the control group may use " + humanize.Bytes(uint64(limit))
	}
	c.say("memory", "%s", memory)
	c.say("open files", "%s", limitText(unix.RLIMIT_NOFILE))
	c.say("processes", "%s", limitText(unix.RLIMIT_NPROC))
}

// limits prints whether members could have limits. An agent without the permission to set them
// can still start.
func (c *agentCheck) limits() {
	for _, one := range []struct {
		key    string
		limits resources.Limits
	}{
		{"resources.cpus", resources.Limits{CPUs: 0.1, Period: resources.DefaultPeriod}},
		{"resources.memory", resources.Limits{MemoryBytes: 64 << 20}},
	} {
		if where, err := cgroup.Try(one.limits); err != nil {
			c.say(one.key, "no member can be limited: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
		} else {
			c.say(one.key, "members can be limited, by %s", where)
		}
	}
}

// limitText describes the limit on resource for the current user.
func limitText(resource int) string {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return "limit not known: " + err.Error()
	}
	text := func(n uint64) string {
		if n == unix.RLIM_INFINITY {
			return "unlimited"
		}
		return humanize.Comma(int64(min(n, 1<<62)))
	}
	return fmt.Sprintf("at most %s (hard limit %s)", text(l.Cur), text(l.Max))
}

// check returns every flag whose value cannot be used on this machine.
func (f agentFlags) check() error {
	var errs []error
	if _, port, err := net.SplitHostPort(f.listen); err != nil {
		errs = append(errs, fmt.Errorf("--agent-port must be HOST:PORT: %w", err))
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		errs = append(errs, fmt.Errorf("--agent-port must end in a port from 0 to 65535, got %q", port))
	}
	for _, name := range f.allowFaults {
		if k, err := fault.Find(name); err != nil {
			errs = append(errs, fmt.Errorf("--allow-faults: %w", err))
		} else if err := k.Possible(); err != nil {
			errs = append(errs, fmt.Errorf("--allow-faults: this machine cannot have the fault %s: %w", name, err))
		}
	}
	if workDir, err := f.workDirectory(); err != nil {
		errs = append(errs, err)
	} else if err := checkOwnDisk(f.disk, workDir); err != nil {
		errs = append(errs, err)
	}
	if f.lease <= 0 {
		errs = append(errs, fmt.Errorf("--lease must be positive, got %v", f.lease))
	}
	if (!slices.Equal(f.loads.targets, []string{generator.Reserved}) || len(f.loads.secretDirs)+len(f.loads.secretEnv) > 0) && !f.loads.allow {
		errs = append(errs, errors.New("--allow-targets, --secrets-dir and --secrets-env need --allow-load"))
	}
	if _, err := generator.ParseTargets(f.loads.targets); err != nil {
		errs = append(errs, fmt.Errorf("--allow-targets: %w", err))
	}
	for _, dir := range f.loads.secretDirs {
		if info, err := os.Stat(dir); err != nil {
			errs = append(errs, fmt.Errorf("--secrets-dir: %w", err))
		} else if !info.IsDir() {
			errs = append(errs, fmt.Errorf("--secrets-dir must be a folder, got %q", dir))
		}
	}
	if len(f.peers) > 0 && !f.dryCheck {
		errs = append(errs, errors.New("--peers needs --check"))
	}
	if f.metrics.certs != "" && f.metrics.address == "" {
		errs = append(errs, errors.New("--metrics-certs needs --metrics ADDRESS"))
	}
	if _, err := f.peerAddresses(); err != nil {
		errs = append(errs, fmt.Errorf("--peers: %w", err))
	}
	if f.device != "" {
		if err := sysmetrics.CheckDevice(f.device); err != nil {
			errs = append(errs, fmt.Errorf("--disk-device: %w", err))
		}
	}
	if f.iface != "" {
		if _, err := net.InterfaceByName(f.iface); err != nil {
			errs = append(errs, fmt.Errorf("--network-interface must be an interface of this machine, got %q", f.iface))
		}
	}
	return errors.Join(errs...)
}

// checkOwnDisk returns why members cannot have their own disks here; "" means no own disk.
func checkOwnDisk(disk, workDir string) error {
	own, err := owndisk.Asked(disk)
	if err == nil && own.Dir != "" {
		err = owndisk.CheckDir(own.Dir, workDir)
	}
	if err != nil {
		return fmt.Errorf("--disk: %w", err)
	}
	return nil
}
