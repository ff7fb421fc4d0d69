// Package kube writes an experiment as manifests for Kubernetes: agents as a StatefulSet with a
// disk for each, control as a Job, the experiment file with the pods' names as hosts, and
// references to the Secrets it needs. It talks to no cluster and knows only the few fields of
// Kubernetes' API that it writes.
package kube

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/files/plaintext"
)

// The object names in their namespace. Secrets are made by whoever runs the experiment; the others
// are rendered.
const (
	nameAgent       = "agent"
	nameGenerator   = "generator"
	nameControl     = "control"
	nameExperiment  = "experiment"
	nameResults     = "results"
	nameAgentCerts  = "agent-certs"
	nameLoadCerts   = "generator-certs"
	nameControlCert = "control-certs"
	nameFiles       = "files"       // Secret with the files an experiment names
	nameEnvironment = "environment" // Secret with the variables an experiment names
)

// The places in containers.
const (
	dirWork       = "/var/lib/dbtester"
	dirCerts      = "/etc/dbtester/certs"
	dirExperiment = "/experiment"
	dirResults    = "/results"
	fileName      = "experiment.yaml"
)

const (
	agentPort = 3500
	// user runs all processes, also the members. It owns nothing in the images.
	user = 65532
	// secretMode lets the pod group read and denies all writes: 0440.
	secretMode = 0o440
	// exitInvalid is the exit code if a run is recorded but not valid.
	exitInvalid = 3
)

// Render returns the manifests for an experiment, which [File] made for its pods, as one stream of
// YAML documents that kubectl apply takes. Comments at its top name the Secrets that must exist
// before. The same arguments give the same bytes.
func Render(e *config.Experiment, file []byte, o Options) ([]byte, error) {
	if err := o.check(e); err != nil {
		return nil, err
	}
	needs, err := needsOf(e)
	if err != nil {
		return nil, err
	}
	r := renderer{Options: o, needs: needs, agents: agents(e), generators: replicas(nameGenerator, e.Generators)}
	var objects []object
	if r.agents > 0 {
		objects = append(objects, r.service(nameAgent), r.agentSet())
	}
	if r.generators > 0 {
		objects = append(objects, r.service(nameGenerator), r.generatorSet())
	}
	objects = append(objects, r.configMap(file))
	if o.ResultsSize != "" {
		objects = append(objects, r.claim())
	}
	objects = append(objects, r.job())
	var out bytes.Buffer
	out.WriteString(r.heading(e))
	d, err := yaml.NewDumper(&out, yaml.WithLineWidth(-1))
	if err != nil {
		return nil, fmt.Errorf("write manifests: %w", err)
	}
	for _, o := range objects {
		if err := d.Dump(o); err != nil {
			return nil, fmt.Errorf("write manifests: %w", err)
		}
	}
	if err := d.Close(); err != nil {
		return nil, fmt.Errorf("write manifests: %w", err)
	}
	return out.Bytes(), nil
}

// agents counts the agent pods named in the experiment.
func agents(e *config.Experiment) int {
	n := 0
	for _, db := range e.Databases {
		n = max(n, replicas(nameAgent, db.Hosts))
	}
	return n
}

// replicas returns the least number of pods in a set that has all pods named in hosts.
func replicas(set string, hosts []config.Host) int {
	n := 0
	for _, h := range hosts {
		var i int
		if _, err := fmt.Sscanf(h.DNS, set+"-%d.", &i); err == nil {
			n = max(n, i+1)
		}
	}
	return n
}

// renderer makes the objects for an experiment.
type renderer struct {
	Options
	needs
	agents, generators int // pods
}

// sets returns the pod sets that control calls, with their Secrets and sizes.
func (r renderer) sets() (all []set) {
	if r.agents > 0 {
		all = append(all, set{nameAgent, nameAgentCerts, r.agents})
	}
	if r.generators > 0 {
		all = append(all, set{nameGenerator, nameLoadCerts, r.generators})
	}
	return all
}

type set struct {
	name, secret string
	size         int
}

// heading returns a comment that describes the manifests and the Secrets they need.
func (r renderer) heading(e *config.Experiment) string {
	var b strings.Builder
	line := func(format string, args ...any) { // whatever the experiment names, a comment is one line
		fmt.Fprintf(&b, "# %s\n", plaintext.Line(fmt.Sprintf(format, args...)))
	}
	line("%s", plaintext.Joined(e.Title))
	line("Made by dbtester kube render; docs/kubernetes.md explains it.")
	if before := append(r.certificates(), r.secrets()...); len(before) > 0 {
		line("Before kubectl apply:")
		for _, command := range before {
			line("  %s", command)
		}
	}
	if len(r.optional) > 0 {
		line("The Secret %s may have more: %s.", nameEnvironment, strings.Join(r.optional, ", "))
	}
	if r.Insecure {
		line("Agents let in anyone who reaches them (--insecure).")
	}
	if r.limited {
		line("Agents run as root and privileged (--privileged): they make control groups for the limits of their members.")
	}
	return b.String()
}

// certificates returns the commands that make certificates for agents and control. The pods in a
// StatefulSet share one Secret, so one certificate names them all.
func (r renderer) certificates() (list []string) {
	if r.Insecure {
		return nil
	}
	for i, s := range r.sets() {
		var names []string
		for j := range s.size {
			names = append(names, podName(s.name, j, r.Namespace))
		}
		if i == 0 {
			list = append(list, "dbtester certs init --hosts "+plaintext.Word(names[0]))
		}
		list = append(list, "dbtester certs issue --force --host "+plaintext.Word(strings.Join(names, ",")))
	}
	return list
}

// secrets returns the commands that make each Secret.
func (r renderer) secrets() []string {
	create := fmt.Sprintf("kubectl -n %s create secret generic ", plaintext.Word(r.Namespace))
	var list []string
	if sets := r.sets(); !r.Insecure && len(sets) > 0 {
		for _, s := range sets {
			list = append(list, create+s.secret+" --from-file="+plaintext.Word("certs/agent-"+podName(s.name, 0, r.Namespace)))
		}
		list = append(list, create+nameControlCert+" --from-file=certs/control")
	}
	if len(r.files) > 0 {
		args := create + nameFiles
		for _, f := range r.files {
			args += " --from-file=" + plaintext.Word(f.key+"="+f.path)
		}
		list = append(list, args)
	}
	if len(r.variables) > 0 {
		args := create + nameEnvironment
		for _, v := range r.variables {
			args += " --from-literal=" + plaintext.Word(v+"=...")
		}
		list = append(list, args)
	}
	return list
}

func (r renderer) meta(name string) metadata {
	return metadata{Name: name, Namespace: r.Namespace, Labels: labels(name)}
}

// labels returns the labels for a part of the experiment, by which it is also selected.
func labels(part string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "dbtester", "app.kubernetes.io/component": part}
}

func (r renderer) configMap(file []byte) object {
	return object{APIVersion: "v1", Kind: "ConfigMap", Metadata: r.meta(nameExperiment), Data: map[string]string{fileName: string(file)}}
}

func (r renderer) claim() object {
	return object{APIVersion: "v1", Kind: "PersistentVolumeClaim", Metadata: r.meta(nameResults), Spec: r.claimOf(r.ResultsSize)}
}

func (r renderer) claimOf(size string) claimSpec {
	return claimSpec{
		AccessModes: []string{"ReadWriteOnce"}, StorageClassName: r.StorageClass,
		Resources: resources{Requests: map[string]string{"storage": size}},
	}
}
