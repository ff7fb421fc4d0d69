package kube

import (
	"fmt"
	"strings"
)

// podName returns the DNS name of pod i in a set, from 0.
func podName(set string, i int, namespace string) string {
	return fmt.Sprintf("%s-%d.%s.%s.svc", set, i, set, namespace)
}

// service gives every pod in a set its name. It is resolved once the agent in the pod listens:
// control waits for that.
func (r renderer) service(set string) object {
	return object{APIVersion: "v1", Kind: "Service", Metadata: r.meta(set), Spec: serviceSpec{
		ClusterIP: "None", Selector: labels(set), Ports: []servicePort{{Name: nameAgent, Port: agentPort}},
	}}
}

// agentSet returns the agents, each with its own disk.
func (r renderer) agentSet() object {
	c := container{
		Name: nameAgent, Image: r.Image, ImagePullPolicy: r.PullPolicy,
		Args:      []string{"agent", "--agent-port", fmt.Sprintf(":%d", agentPort), "--work-dir", dirWork + "/work", "--cache", dirWork + "/cache"},
		Env:       []variable{{Name: "HOME", Value: dirWork}},
		Ports:     []containerPort{{Name: nameAgent, ContainerPort: agentPort}},
		Resources: r.Agent.both(),
		// Probing a pod that runs would take processor time from the member.
		StartupProbe:    &probe{TCPSocket: tcpSocket{Port: agentPort}, PeriodSeconds: 2, FailureThreshold: 150},
		SecurityContext: r.unprivileged(),
		VolumeMounts:    []volumeMount{{Name: "data", MountPath: dirWork}, {Name: "tmp", MountPath: "/tmp"}},
	}
	volumes := []volume{{Name: "tmp", EmptyDir: &emptyDir{}}}
	pod := r.pod(60)
	if r.limited {
		pod.SecurityContext.RunAsNonRoot, pod.SecurityContext.RunAsUser, pod.SecurityContext.RunAsGroup = false, 0, 0
		pod.SecurityContext.SeccompProfile.Type = "Unconfined"
		c.SecurityContext = containerSecurity{Privileged: true, AllowPrivilegeEscalation: true, ReadOnlyRootFilesystem: true}
	}
	r.link(&c, &volumes, nameAgentCerts)
	if len(r.faults) > 0 {
		c.Args = append(c.Args, "--allow-faults", strings.Join(r.faults, ","))
	}
	c.Args = append(c.Args, r.AgentFlags...)
	pod.Containers, pod.Volumes = []container{c}, volumes
	return object{APIVersion: "apps/v1", Kind: "StatefulSet", Metadata: r.meta(nameAgent), Spec: statefulSetSpec{
		ServiceName: nameAgent, Replicas: r.agents, PodManagementPolicy: "Parallel",
		Selector:             labelSelector{labels(nameAgent)},
		ClaimRetention:       &claimRetention{WhenDeleted: "Delete", WhenScaled: "Delete"},
		Template:             podTemplate{podMeta(nameAgent), pod},
		VolumeClaimTemplates: []claimTemplate{{metadata{Name: "data"}, r.claimOf(r.Disk)}},
	}}
}

// generatorSet returns the agents that issue the load. They read the files the experiment names
// themselves, as control does without them.
func (r renderer) generatorSet() object {
	c := container{
		Name: nameGenerator, Image: r.Image, ImagePullPolicy: r.PullPolicy, WorkingDir: dirExperiment,
		Args:            append(append([]string{"agent", "--allow-load"}, r.allowed()...), "--agent-port", fmt.Sprintf(":%d", agentPort), "--work-dir", dirWork),
		Env:             []variable{{Name: "HOME", Value: "/tmp"}},
		Ports:           []containerPort{{Name: nameAgent, ContainerPort: agentPort}},
		Resources:       r.Control.both(),
		StartupProbe:    &probe{TCPSocket: tcpSocket{Port: agentPort}, PeriodSeconds: 2, FailureThreshold: 150},
		SecurityContext: r.unprivileged(),
		VolumeMounts:    []volumeMount{{Name: "work", MountPath: dirWork}, {Name: "tmp", MountPath: "/tmp"}},
	}
	volumes := []volume{{Name: "work", EmptyDir: &emptyDir{}}, {Name: "tmp", EmptyDir: &emptyDir{}}}
	r.link(&c, &volumes, nameLoadCerts)
	r.client(&c, &volumes)
	pod := r.pod(60)
	pod.Containers, pod.Volumes = []container{c}, volumes
	return object{APIVersion: "apps/v1", Kind: "StatefulSet", Metadata: r.meta(nameGenerator), Spec: statefulSetSpec{
		ServiceName: nameGenerator, Replicas: r.generators, PodManagementPolicy: "Parallel",
		Selector: labelSelector{labels(nameGenerator)},
		Template: podTemplate{podMeta(nameGenerator), pod},
	}}
}

// client gives a container the experiment, and the files and variables it names.
func (r renderer) client(c *container, volumes *[]volume) {
	for _, name := range r.variables {
		c.Env = append(c.Env, variable{Name: name, ValueFrom: &valueSource{keyRef{Name: nameEnvironment, Key: name}}})
	}
	for _, name := range r.optional {
		c.Env = append(c.Env, variable{Name: name, ValueFrom: &valueSource{keyRef{Name: nameEnvironment, Key: name, Optional: true}}})
	}
	sources := []projected{{ConfigMap: &itemsOf{Name: nameExperiment}}}
	if items := r.relative(); len(items) > 0 {
		sources = append(sources, projected{Secret: &itemsOf{Name: nameFiles, Items: items}})
	}
	c.VolumeMounts = append(c.VolumeMounts, volumeMount{Name: nameExperiment, MountPath: dirExperiment, ReadOnly: true})
	*volumes = append(*volumes, volume{Name: nameExperiment, Projected: &projectedVolume{secretMode, sources}})
	if mounts := r.mounts(); len(mounts) > 0 {
		c.VolumeMounts = append(c.VolumeMounts, mounts...)
		*volumes = append(*volumes, filesVolume())
	}
}

// job returns the job for control. A failed run is not repeated: agents, disks and time are for one
// run, and the next one is for the user to start. The policy makes a run that is recorded but not
// valid fail with a separate reason, PodFailurePolicy.
func (r renderer) job() object {
	c := container{
		Name: nameControl, Image: r.Image, ImagePullPolicy: r.PullPolicy, WorkingDir: dirExperiment,
		Args:            []string{"control", "--config", fileName, "--results", dirResults},
		Env:             []variable{{Name: "HOME", Value: "/tmp"}},
		Resources:       r.Control.both(),
		SecurityContext: r.unprivileged(),
		VolumeMounts:    []volumeMount{{Name: nameResults, MountPath: dirResults}, {Name: "tmp", MountPath: "/tmp"}},
	}
	out := volume{Name: nameResults, Claim: &claimVolume{nameResults}}
	if r.ResultsSize == "" {
		out = volume{Name: nameResults, EmptyDir: &emptyDir{}}
	}
	volumes := []volume{out, {Name: "tmp", EmptyDir: &emptyDir{}}}
	if len(r.sets()) > 0 {
		c.Args = append(c.Args, "--wait", "15m")
		r.link(&c, &volumes, nameControlCert)
	}
	r.client(&c, &volumes)
	pod := r.pod(120)
	pod.RestartPolicy, pod.Containers, pod.Volumes = "Never", []container{c}, volumes
	return object{APIVersion: "batch/v1", Kind: "Job", Metadata: r.meta(nameControl), Spec: jobSpec{
		PodFailurePolicy: podFailurePolicy{[]failureRule{{Action: "FailJob", OnExitCodes: exitCodes{nameControl, "In", []int{exitInvalid}}}}},
		Template:         podTemplate{podMeta(nameControl), pod},
	}}
}

// link gives c the certificates in secret, or the flag --insecure.
func (r renderer) link(c *container, volumes *[]volume, secret string) {
	if r.Insecure {
		c.Args = append(c.Args, "--insecure")
		return
	}
	c.Args = append(c.Args, "--certs", dirCerts)
	c.VolumeMounts = append(c.VolumeMounts, volumeMount{Name: "certs", MountPath: dirCerts, ReadOnly: true})
	*volumes = append(*volumes, volume{Name: "certs", Secret: &secretVolume{secret, secretMode}})
}

// pod returns the part that all pods share: no root, no cluster token, and a node no other pod in
// the experiment has. seconds is the time between the request to end and the kill.
func (r renderer) pod(seconds int) podSpec {
	term := affinityTerm{
		LabelSelector: labelSelector{map[string]string{"app.kubernetes.io/name": "dbtester"}},
		TopologyKey:   "kubernetes.io/hostname",
	}
	apart := podAntiAffinity{Required: []affinityTerm{term}}
	if r.ShareNodes {
		apart = podAntiAffinity{Preferred: []weightedAffinityTerm{{100, term}}}
	}
	return podSpec{
		GracePeriod: seconds,
		SecurityContext: podSecurity{
			RunAsNonRoot: true, RunAsUser: user, RunAsGroup: user, FSGroup: user, SeccompProfile: seccompProfile{"RuntimeDefault"},
		},
		Affinity: affinity{apart},
	}
}

// podMeta has autoscalers leave a pod where it is.
func podMeta(part string) metadata {
	return metadata{Labels: labels(part), Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}
}

func (r renderer) unprivileged() containerSecurity {
	return containerSecurity{ReadOnlyRootFilesystem: true, Capabilities: &capabilities{Drop: []string{"ALL"}}}
}

// both returns the share as requests and as limits, so that a pod gets neither less nor
// more.
func (s Share) both() resources {
	is := map[string]string{"cpu": s.CPUs, "memory": s.Memory}
	return resources{Requests: is, Limits: is}
}

func filesVolume() volume {
	return volume{Name: nameFiles, Secret: &secretVolume{nameFiles, secretMode}}
}
