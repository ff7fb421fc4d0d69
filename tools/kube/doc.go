// Package kube decodes the manifests that dbtester kube render prints into the types that
// Kubernetes publishes, in its tests. It is a separate module, so that dbtester does not depend on
// those types.
package kube
