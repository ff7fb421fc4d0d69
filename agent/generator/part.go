package generator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"github.com/coreos/dbtester/agent/tenant"
	pb "github.com/coreos/dbtester/dbtesterpb"
	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/load"
	"github.com/coreos/dbtester/pkg/load/schedule"
	"github.com/coreos/dbtester/pkg/machine/sysmetrics"
	"github.com/coreos/dbtester/pkg/trust/secret"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Bounds on a request.
const (
	maxPath      = 4096 // bytes
	maxEndpoints = 1000
	maxParts     = 10_000
	maxClients   = 1 << 20 // in a part
)

// part is the load a generator issues, and its target. It does not change.
type part struct {
	database string
	driver   database.Driver
	locks    *database.LockFacts // nil without any
	target   database.Target
	spec     load.Spec
	period   time.Duration // between samples
}

// planned returns the part a request describes. The error joins all problems of the request. Files
// the request names are not read yet.
func planned(registry *database.Registry, req *pb.PrepareRequest) (*part, error) {
	p := &part{database: req.GetDatabase(), spec: load.Spec{
		Seed: req.GetSeed(), FirstKey: req.GetFirstKey(), Part: schedule.Part{Index: int(req.GetPart()), Of: int(req.GetParts())},
	}}
	errs := []error{tenant.CheckRun(req.GetRunId()), tenant.CheckName("owner", req.GetOwner()), tenant.CheckName("tag", req.GetTag())}
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(req.GetParts() < 1 || req.GetParts() > maxParts, "parts must be from 1 to %d, got %d", maxParts, req.GetParts())
	refuse(req.GetMaxBytes() < 0, "the largest request must be at least 0 bytes, got %d", req.GetMaxBytes())
	if entry, err := registry.Get(req.GetDatabase()); err != nil {
		errs = append(errs, err)
	} else {
		p.driver, p.locks = entry.New(), entry.Info.Locks
		errs = append(errs, decodeOptions(req.GetOptions(), p.driver))
	}
	var err error
	if p.spec.Load, err = decodeLoad(req.GetLoad()); err == nil {
		err = p.spec.CheckPart()
	}
	refuse(p.spec.Sessions < 0 || p.spec.Sessions > workload.MostSessions, "sessions must be from 0 to %d, got %d", workload.MostSessions, p.spec.Sessions)
	refuse(p.spec.Locks.Hold < 0 || p.spec.Locks.Hold > workload.LongestHold, "a lock must be held for 0s to %v, got %v", workload.LongestHold, p.spec.Locks.Hold)
	refuse(p.spec.Locks.TTL < 0 || p.spec.Any(workload.Op.Locks) && p.spec.Locks.TTL == 0, "the TTL of contenders must be positive, got %v", p.spec.Locks.TTL)
	errs = append(errs, err)
	p.period, err = sysmetrics.Period(req.GetSamplePeriodNs())
	errs = append(errs, err, p.setTarget(req))
	return p, errors.Join(errs...)
}

// decodeOptions decodes the driver options as control does.
func decodeOptions(data []byte, driver database.Driver) error {
	if err := yamlfile.DecodeOptions(data, driver); err != nil {
		return err
	}
	return database.CheckOptions(driver)
}

// decodeLoad decodes a load strictly: with an unknown parameter it would be issued differently.
func decodeLoad(data []byte) (l workload.Load, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, fmt.Errorf("decode load: %w", err)
	}
	return l, nil
}

// setTarget sets where client requests go, without credentials.
func (p *part) setTarget(req *pb.PrepareRequest) error {
	p.target = database.Target{Prefer: -1, Endpoints: req.GetEndpoints(), Prefix: req.GetPrefix(), MaxBytes: int(req.GetMaxBytes())}
	if n := len(req.GetEndpoints()); n < 1 || n > maxEndpoints {
		return fmt.Errorf("endpoints must be from 1 to %d, got %d", maxEndpoints, n)
	}
	for _, e := range req.GetEndpoints() {
		if _, _, err := net.SplitHostPort(e); err != nil {
			return fmt.Errorf("an endpoint must be HOST:PORT: %w", err)
		}
		if err := tenant.CheckName("an endpoint", e); err != nil {
			return err
		}
	}
	return nil
}

// readCredentials reads the files and the password the request names, on this machine, after
// [Secrets] allowed them. The error joins all problems and holds no part of a password.
func (p *part) readCredentials(req *pb.PrepareRequest) error {
	var errs []error
	if t := req.GetTls(); t != nil {
		p.target.TLS = &database.TLS{CA: t.GetCa(), Cert: t.GetCert(), Key: t.GetKey()}
		_, err := p.target.TLS.Config()
		errs = append(errs, err)
	}
	if a := req.GetAuth(); a != nil {
		password, err := secret.Password(a.GetPasswordFile(), a.GetPasswordEnv())
		p.target.Auth = &database.Auth{User: a.GetUser(), Password: password}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("credentials on the generator's machine: %w", err)
	}
	return nil
}

// checkPath refuses a path that is neither empty nor plain and absolute.
func checkPath(name, path string) error {
	if path == "" || tenant.Printable(path, maxPath) && filepath.IsAbs(path) && filepath.Clean(path) == path {
		return nil
	}
	return fmt.Errorf("%s must be a plain absolute path on the generator's machine, got %q", name, path)
}

// share returns the number of clients or connections, out of n, that belong to this part, at least
// one.
func (p *part) share(n int32) int { return max(int(p.spec.Part.Count(int64(n))), 1) }

// own returns the load of this part, as a self-check needs it.
func (p *part) own() workload.Load {
	l := p.spec.Load
	of := float64(max(p.spec.Part.Of, 1))
	steps := l.Stretches()
	for i := range steps {
		s := &steps[i]
		s.Clients, s.Rate, s.RateEnd = p.share(int32(s.Clients)), s.Rate/of, s.RateEnd/of
		s.Connections = min(p.share(int32(s.Connections)), s.Clients)
	}
	if len(l.Steps) > 0 {
		l.Steps = steps
		return l
	}
	l.Clients, l.Connections, l.Rate, l.RateEnd = steps[0].Clients, steps[0].Connections, steps[0].Rate, steps[0].RateEnd
	return l
}
