package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/files/address"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Bounds on a request: far above any real cluster, so that a bad request is refused before it
// exhausts anything.
const (
	maxHosts = 256
	maxTag   = 128 // bytes
)

// plan turns req into a planned member. It has no side effects. Its errors are gRPC statuses.
func (a *planner) plan(req *pb.StartRequest) (p *planned, err error) {
	// Options and hosts come from outside, and drivers compute with them.
	defer recovered(a.opts.Log, "plan", &err)
	p = &planned{tag: req.GetTag()}
	if err := checkTag(req.GetTag()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := a.allowsFaults(req); err != nil {
		return nil, err
	}
	p.tap = tapOf(req)
	if p.grouping, err = groupingOf(req); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if p.db, err = a.opts.Registry.Get(req.GetDatabase()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	// A missing release and wrong options are reported together: both take long to fix.
	var optionsErr, toolsErr error
	p.driver, optionsErr = a.driver(p.db, req.GetOptions(), p.grouping.facts(a.host.MemoryBytes))
	p.tools, toolsErr = a.tools(p.db, req)
	if err := joined(optionsErr, toolsErr); err != nil {
		return nil, err
	}
	hosts, err := hostsOf(p.db.Info, req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if p.period, err = sysmetrics.Period(req.GetSamplePeriodNs()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	tls, err := tlsOf(p.db, req)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	p.dir = req.GetTag() + "-" + pb.RunHash(req.GetRunId())[:8]
	p.member = database.Member{
		Index: int(req.GetIndex()),
		Hosts: hosts,
		Dir:   a.memberDir(p.dir),
		Tools: p.tools.paths,
		TLS:   tls,
	}
	p.grouping.apart = shares(req, p.member)
	p.target = targetOf(hosts)
	p.target.TLS = tls
	if p.plan, err = p.driver.Plan(p.member); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "plan member %d of %s: %v", p.member.Index, p.db.Name, err)
	}
	p.grouping.limit(&p.plan)
	if p.argv, err = a.commands(p.plan, p.tools.paths); err != nil {
		return nil, err
	}
	if !req.GetSkipDatabaseMetrics() {
		p.metrics = p.plan.Metrics
	}
	p.files = p.collectable()
	if p.upgrades, err = a.upgraded(req, p); err != nil {
		return nil, err
	}
	return p, nil
}

// joined returns one status with the texts of all errs in one line and the code of the first.
func joined(errs ...error) error {
	var code codes.Code
	var texts []string
	for _, err := range errs {
		if err == nil {
			continue
		}
		if len(texts) == 0 {
			code = status.Code(err)
		}
		texts = append(texts, strings.ReplaceAll(status.Convert(err).Message(), "\n", "; "))
	}
	if len(texts) == 0 {
		return nil
	}
	return status.Error(code, strings.Join(texts, "; "))
}

// driver returns the driver of db with its options decoded and allowed on a machine with these
// facts.
func (a *planner) driver(db database.Database, options []byte, facts database.HostFacts) (database.Driver, error) {
	driver := db.New()
	if err := yamlfile.DecodeOptions(options, driver); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "%s: %v", db.Name, err)
	}
	if f, ok := driver.(database.ExtraFlags); ok && len(f.ExtraFlags()) > 0 && !a.opts.AllowFlags {
		return nil, status.Errorf(codes.PermissionDenied, "extra flags %q are refused: the agent was started without --allow-flags", f.ExtraFlags())
	}
	if v, ok := driver.(database.Validator); ok {
		if err := v.Validate(facts); err != nil {
			return nil, status.Errorf(codes.InvalidArgument, "%s options: %v", db.Name, err)
		}
	}
	return driver, nil
}

// checkTag refuses a tag that is not one plain, visible folder name.
func checkTag(tag string) error {
	switch {
	case !tenant.Printable(tag, maxTag) || tag == "":
		return fmt.Errorf("tag %q is not 1 to %d bytes of printable text", tag, maxTag)
	case strings.ContainsAny(tag, `/\`) || strings.HasPrefix(tag, "."):
		return fmt.Errorf("tag %q does not name a folder: it may not hold / or \\ nor begin with a dot", tag)
	}
	return nil
}

// hostsOf returns the cluster hosts with every port filled in. It reports all problems.
func hostsOf(info database.Info, req *pb.StartRequest) ([]database.Host, error) {
	n := len(req.GetHosts())
	if n == 0 || n > maxHosts {
		return nil, fmt.Errorf("a cluster of %d hosts: want 1 to %d", n, maxHosts)
	}
	if i := req.GetIndex(); i < 0 || int(i) >= n {
		return nil, fmt.Errorf("member %d of %d hosts: want 0 to %d", i, n, n-1)
	}
	var problems []error
	if req.GetClients() < 0 {
		problems = append(problems, fmt.Errorf("%d clients: want 0 or more", req.GetClients()))
	}
	hosts := make([]database.Host, n)
	for i, h := range req.GetHosts() {
		if err := checkHost(h.GetAddr()); err != nil {
			problems = append(problems, fmt.Errorf("host %d: %w", i, err))
		}
		if n, most := len(h.GetPorts()), len(info.Ports); n > most {
			problems = append(problems, fmt.Errorf("host %d: ports must be at most %d, got %d", i, most, n))
			continue
		}
		ports := map[string]int{}
		for role, port := range h.GetPorts() {
			if _, known := info.Ports[role]; !known {
				problems = append(problems, fmt.Errorf("host %d: unknown port %q (known: %s)", i, role,
					strings.Join(slices.Sorted(maps.Keys(info.Ports)), ", ")))
			}
			if port < 1 || port > 65535 {
				problems = append(problems, fmt.Errorf("host %d: port %q is %d, want 1 to 65535", i, role, port))
			}
			ports[role] = int(port)
		}
		hosts[i] = database.Host{Addr: h.GetAddr(), Ports: ports}
	}
	hosts = info.FillPorts(hosts)
	return hosts, errors.Join(append(problems, checkDistinct(hosts))...)
}

// checkHost returns why addr cannot be a member's.
func checkHost(addr string) error {
	if err := address.CheckMember(addr); err != nil {
		return err
	}
	return address.CheckZone(addr)
}

// checkDistinct returns an error for each two hosts that would listen on one address.
func checkDistinct(hosts []database.Host) error {
	var problems []error
	taken := map[string]int{}
	for i, h := range hosts {
		for _, role := range slices.Sorted(maps.Keys(h.Ports)) {
			listen := net.JoinHostPort(address.Canonical(h.Addr), strconv.Itoa(h.Ports[role]))
			if other, ok := taken[listen]; ok {
				problems = append(problems, fmt.Errorf("host %d: port %q must be used only once, got %s, which host %d already uses", i, role, listen, other))
				continue
			}
			taken[listen] = i
		}
	}
	return errors.Join(problems...)
}

// targetOf returns the target with the client ports of all members.
func targetOf(hosts []database.Host) database.Target {
	t := database.Target{Prefer: -1}
	for _, h := range hosts {
		t.Endpoints = append(t.Endpoints, net.JoinHostPort(h.Addr, strconv.Itoa(h.Ports["client"])))
	}
	return t
}

// collectable lists the session files that Collect serves. The list depends only on the request, so
// an index means the same file for the whole session.
func (p *planned) collectable() []string {
	files := []string{results.FileServer}
	if p.metrics != nil {
		files = append(files, results.FileDatabase)
	}
	for _, c := range p.plan.Commands {
		files = append(files, logFile(c.Name))
	}
	return append(files, results.FileAgentLog, fileRecord)
}

// planMessage returns the plan as JSON: argv as they run, secret files without their content.
func (p *planned) planMessage() ([]byte, error) {
	plan := p.plan
	plan.Files = slices.Clone(plan.Files)
	for i := range plan.Files {
		if plan.Files[i].Secret {
			plan.Files[i].Content = ""
		}
	}
	plan.Commands = slices.Clone(plan.Commands)
	for i := range plan.Commands {
		plan.Commands[i].Path, plan.Commands[i].Args = p.argv[i][0], p.argv[i][1:]
	}
	return json.Marshal(plan)
}

// plannedChildren returns the children for the answer to a dry run.
func (p *planned) plannedChildren() []*pb.Child {
	children := make([]*pb.Child, len(p.argv))
	for i, argv := range p.argv {
		children[i] = &pb.Child{Name: p.plan.Commands[i].Name, Argv: argv}
	}
	return children
}
