package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/kube"
)

func newKube(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kube",
		Short: "Run an experiment in Kubernetes",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKubeRender(a))
	return cmd
}

func newKubeRender(a *app) *cobra.Command {
	var path string
	o := kube.Options{Image: "dbtester:" + imageTag(tool().Version)}
	cmd := &cobra.Command{
		Use:   "render --config FILE",
		Short: "Print manifests that run an experiment in Kubernetes, for kubectl apply",
		Long: `Print manifests that run an experiment in Kubernetes, for kubectl apply.

Each host of the file becomes a pod of a StatefulSet that runs an agent on a disk of its
own; control runs as a Job that starts when all agents listen. Comments at the top name
the Secrets that must exist before. A Job that failed with the reason PodFailurePolicy
recorded a run that is not valid.`,
		Example: "  dbtester kube render --config FILE | kubectl apply -f -",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return a.runKubeRender(path, o) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&path, "config", "c", "", "experiment file, compact or classic; - reads standard input")
	flags.StringVar(&o.Namespace, "namespace", "dbtester", "namespace of all objects, which must exist")
	flags.StringVar(&o.Image, "image", o.Image, "image of agents and control, with dbtester as its entry point")
	flags.StringVar(&o.PullPolicy, "pull-policy", "", "when nodes pull the image: Always, IfNotPresent or Never (default: the cluster's)")
	flags.StringVar(&o.StorageClass, "storage-class", "", "storage class of all claims (default: the cluster's)")
	flags.StringVar(&o.Disk, "disk", "20Gi", "size of each agent's disk")
	flags.StringVar(&o.ResultsSize, "results-size", "10Gi", `size of the disk for results; "" for experiments that upload them`)
	flags.StringVar(&o.Agent.CPUs, "cpus", "2", "processors of each agent with its member, requested and limit")
	flags.StringVar(&o.Agent.Memory, "memory", "4Gi", "memory of each agent with its member, requested and limit")
	flags.StringVar(&o.Control.CPUs, "control-cpus", "2", "processors of control, requested and limit")
	flags.StringVar(&o.Control.Memory, "control-memory", "2Gi", "memory of control, requested and limit")
	flags.StringArrayVar(&o.AgentFlags, "agent-flag", nil, "one more flag for the agents, such as --agent-flag=--zookeeper-exec=/opt/zookeeper for jars in the image (repeatable)")
	complete(cmd, "pull-policy", func([]string, string) []string { return []string{"Always", "IfNotPresent", "Never"} })
	flags.BoolVar(&o.Insecure, "insecure", false, "agents accept anyone who can reach them, without certificates")
	flags.BoolVar(&o.Privileged, "privileged", false, "agents of experiments with resources: run as root and privileged, since they make control groups")
	flags.BoolVar(&o.ShareNodes, "share-nodes", false, "pods may share a node if there are too few nodes: they then disturb each other")
	return cmd
}

// runKubeRender prints the manifests for an experiment file.
func (a *app) runKubeRender(path string, o kube.Options) error {
	e, err := a.readExperiment(path)
	if err != nil {
		return err
	}
	text, err := a.fileText(path)
	if err != nil {
		return err
	}
	file, err := kube.File(e, text, o.Namespace)
	if err != nil {
		return usageError{err}
	}
	// The pods read the printed file, so the manifests follow from that file.
	inPods, _, err := config.Parse("the file with pods as hosts", file, a.registry.All())
	if err != nil {
		return err
	}
	manifests, err := kube.Render(inPods, file, o)
	if err != nil {
		return usageError{err}
	}
	_, err = a.out.Write(manifests)
	return err
}

// imageTag returns version as image tag, which cannot contain a plus sign.
func imageTag(version string) string { return strings.ReplaceAll(version, "+", "-") }
