package kube

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// TestManifests decodes every manifest that pkg/kube renders for the examples into the published
// types, which have no other fields, and checks the promises that they all make.
func TestManifests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "pkg", "kube", "testdata", "*.yaml"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files of manifests, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("read the manifests: %v", err)
			}
			objects, err := decode(string(text))
			if err != nil {
				t.Fatalf("decode the manifests: %v", err)
			}
			check(t, objects)
		})
	}
}

// TestDocument decodes the manifests that docs/kubernetes.md shows.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "kubernetes.md"))
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	seen := 0
	for _, block := range regexp.MustCompile("(?ms)^```yaml\n(apiVersion:.*?)^```").FindAllStringSubmatch(string(text), -1) {
		seen++
		if _, err := decode(block[1]); err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
	}
	if seen == 0 {
		t.Error("the page shows no manifest")
	}
}

// TestStrict makes sure that a field no type has is found.
func TestStrict(t *testing.T) {
	for _, wrong := range []string{
		"apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {clusterIp: None}\n",
		"apiVersion: v1\nkind: Service\nmetadata: {name: x, name: y}\n",
		"apiVersion: v1\nkind: Sevice\nmetadata: {name: x}\n",
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {replicas: many}\n",
	} {
		if _, err := decode(wrong); err == nil {
			t.Errorf("decoded without an error:\n%s", wrong)
		}
	}
}

// decode returns the objects in a stream of documents.
func decode(text string) (objects []any, err error) {
	for _, document := range strings.Split(text, "\n---\n") {
		var is struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(document), &is); err != nil {
			return nil, err
		}
		types := map[string]any{
			"v1 Service": &corev1.Service{}, "v1 ConfigMap": &corev1.ConfigMap{}, "v1 Pod": &corev1.Pod{},
			"v1 PersistentVolumeClaim": &corev1.PersistentVolumeClaim{}, "apps/v1 StatefulSet": &appsv1.StatefulSet{}, "batch/v1 Job": &batchv1.Job{},
		}
		object, ok := types[is.APIVersion+" "+is.Kind]
		if !ok {
			return nil, fmt.Errorf("no type for %s %s, only for %s", is.APIVersion, is.Kind, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		}
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", is.Kind, err)
		}
		// As the API server does it: case matters in names, and no name is unknown.
		unknown, err := json.UnmarshalStrict(data, object)
		if err = errors.Join(append(unknown, err)...); err != nil {
			return nil, fmt.Errorf("%s: %w", is.Kind, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// check checks the promises of the objects in an experiment, each and together.
func check(t *testing.T, objects []any) {
	t.Helper()
	claims := map[string]bool{}
	jobs := 0
	for _, o := range objects {
		if c, ok := o.(*corev1.PersistentVolumeClaim); ok {
			claims[c.Name] = true
		}
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			own := ""
			for _, c := range o.Spec.VolumeClaimTemplates {
				own = c.Name
			}
			if o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement || *o.Spec.Replicas < 1 || (own != "") != (o.Name == "agent") {
				t.Errorf("the StatefulSet is %+v, want replicas that start together, each agent with a claim", o.Spec)
			}
			if !reflect.DeepEqual(o.Spec.Selector.MatchLabels, o.Spec.Template.Labels) {
				t.Errorf("the selector %v does not match the labels %v", o.Spec.Selector.MatchLabels, o.Spec.Template.Labels)
			}
			checkPod(t, o.Spec.Template.Spec, claims, own)
		case *batchv1.Job:
			jobs++
			rules := o.Spec.PodFailurePolicy.Rules
			if *o.Spec.BackoffLimit != 0 || len(rules) != 1 || rules[0].Action != batchv1.PodFailurePolicyActionFailJob || !slices.Equal(rules[0].OnExitCodes.Values, []int32{3}) {
				t.Errorf("the Job may repeat a run, or does not know exit code 3: %+v", o.Spec)
			}
			if o.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
				t.Errorf("the Job's pod restarts: %s", o.Spec.Template.Spec.RestartPolicy)
			}
			checkPod(t, o.Spec.Template.Spec, claims, "")
		}
	}
	if jobs != 1 {
		t.Errorf("%d Jobs, want one", jobs)
	}
}

// checkPod checks a pod: its privileges, its resources, and that its volumes exist. own names the
// claim of the pod itself, if it has one.
func checkPod(t *testing.T, pod corev1.PodSpec, claims map[string]bool, own string) {
	t.Helper()
	c := pod.Containers[0]
	volumes := map[string]bool{own: true}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
		if claim := v.PersistentVolumeClaim; claim != nil && !claims[claim.ClaimName] {
			t.Errorf("no claim %s", claim.ClaimName)
		}
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s mounts %s, which is no volume of the pod", c.Name, m.Name)
		}
	}
	if len(c.Resources.Requests) != 2 || !reflect.DeepEqual(c.Resources.Requests, c.Resources.Limits) {
		t.Errorf("%s requests %v and is limited to %v, want processors and memory, each the same", c.Name, c.Resources.Requests, c.Resources.Limits)
	}
	if *pod.AutomountServiceAccountToken || !*c.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("%s can call the cluster's API or change its own image", c.Name)
	}
	privileged := c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
	if root := !*pod.SecurityContext.RunAsNonRoot; root != privileged || privileged && c.Name != "agent" {
		t.Errorf("%s runs as root: %v, privileged: %v", c.Name, root, privileged)
	}
	if apart := pod.Affinity.PodAntiAffinity; len(apart.RequiredDuringSchedulingIgnoredDuringExecution)+len(apart.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Errorf("%s is not kept apart from the other pods", c.Name)
	}
}
