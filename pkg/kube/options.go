package kube

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	memberlimits "github.com/coreos/dbtester/pkg/ability/resources"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/pattern"
)

// Options describe the pods for an experiment, in addition to its file.
type Options struct {
	// Namespace has all objects.
	Namespace string
	// Image has dbtester as its entry point. PullPolicy is Always, IfNotPresent or Never;
	// "" is the cluster's default.
	Image, PullPolicy string
	// StorageClass is the class for all claims, "" for the cluster's default.
	StorageClass string
	// Disk is the size of each agent claim, and ResultsSize that of the claim for results, as
	// Kubernetes writes sizes. ResultsSize may be "" if the experiment uploads its results.
	Disk, ResultsSize string
	// Agent and Control are the shares that each pod gets.
	Agent, Control Share
	// AgentFlags are more flags for the agents, such as --zookeeper-exec=/opt/zookeeper.
	AgentFlags []string
	// Insecure is for agents without certificates.
	Insecure bool
	// Privileged allows agents to run as root and privileged, which they do only for experiments
	// that limit member resources.
	Privileged bool
	// ShareNodes lets pods in the experiment share nodes where there are too few.
	ShareNodes bool
}

// Share is the request of a pod, and also its limit, as Kubernetes writes quantities: processors
// such as 2 or 500m, and memory such as 4Gi.
type Share struct{ CPUs, Memory string }

var (
	nameLabel = pattern.New(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	className = pattern.New(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	// Quantities need two forms: the API server takes 2Gi processors, and 500m as memory, which is
	// half a byte.
	cpusForm  = pattern.New(`^([1-9][0-9]*m?|[0-9]+\.[0-9]{1,3})$`)
	bytesForm = pattern.New(`^([1-9][0-9]*|[0-9]+\.[0-9]+)(k|M|G|T|Ki|Mi|Gi|Ti)?$`)
	isZero    = pattern.New(`^[0.]+[A-Za-z]*$`)
	imageName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`)
)

// check returns every option that cannot be rendered for an experiment.
func (o Options) check(e *config.Experiment) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !nameLabel().MatchString(o.Namespace) {
		wrong("namespace must be a label of DNS, got %q", o.Namespace)
	}
	if !imageName().MatchString(o.Image) {
		wrong("image must be the name of an image, got %q", o.Image)
	}
	if !slices.Contains([]string{"", "Always", "IfNotPresent", "Never"}, o.PullPolicy) {
		wrong("pull policy must be Always, IfNotPresent or Never, got %q", o.PullPolicy)
	}
	if o.StorageClass != "" && !className().MatchString(o.StorageClass) {
		wrong("storage class must be a name of DNS, got %q", o.StorageClass)
	}
	for _, q := range []struct{ what, is string }{{"agents", o.Agent.CPUs}, {"control", o.Control.CPUs}} {
		if !cpusForm().MatchString(q.is) || isZero().MatchString(q.is) {
			wrong("processors of %s must be a number such as 2, 0.5 or 500m, got %q", q.what, q.is)
		}
	}
	for _, q := range []struct{ what, is string }{{"disk", o.Disk}, {"memory of agents", o.Agent.Memory}, {"memory of control", o.Control.Memory}} {
		if !isBytes(q.is) {
			wrong("%s must be a size such as 512Mi or 4Gi, got %q", q.what, q.is)
		}
	}
	for _, flag := range o.AgentFlags {
		if !strings.HasPrefix(flag, "--") || strings.Contains(flag, "$(") {
			wrong("a flag of agents must be --NAME or --NAME=VALUE without $(, got %q", flag)
		}
	}
	switch {
	case o.ResultsSize == "" && !uploads(e):
		wrong("results would be lost: give them a claim, or upload them")
	case o.ResultsSize != "" && !isBytes(o.ResultsSize):
		wrong("size of the results must be a size such as 10Gi, got %q", o.ResultsSize)
	}
	if limited := limits(e); len(limited) > 0 && !o.Privileged {
		wrong("resources of %s make control groups in the agents' containers, which needs root and privileges there: allow that with --privileged, or remove them", strings.Join(limited, ", "))
	}
	for _, problem := range faultProblems(e) {
		wrong("%s", problem)
	}
	if ids := secured(e); len(ids) > 0 {
		wrong("tls of %s: members in pods get new addresses at every start, which no certificate names: leave tls out, or give endpoints in place of hosts", strings.Join(ids, ", "))
	}
	return errors.Join(errs...)
}

// isBytes reports whether s is a size above 0.
func isBytes(s string) bool { return bytesForm().MatchString(s) && !isZero().MatchString(s) }

// uploads reports whether the results of every database leave the pod of control by an upload.
func uploads(e *config.Experiment) bool {
	return e.Upload != nil && !strings.HasPrefix(e.Upload.URL, "file://") && !slices.ContainsFunc(e.Databases, func(db config.Database) bool { return !db.Steps.Upload })
}

// secured returns the databases in pods whose clients check certificates.
func secured(e *config.Experiment) (ids []string) {
	for _, db := range e.Databases {
		if db.TLS != nil && len(db.Hosts) > 0 {
			ids = append(ids, db.ID)
		}
	}
	return ids
}

// limits returns the databases whose members have limits.
func limits(e *config.Experiment) (ids []string) {
	for _, db := range e.Databases {
		if memberlimits.Keys().Of(db.Abilities).Any() {
			ids = append(ids, db.ID)
		}
	}
	return ids
}
