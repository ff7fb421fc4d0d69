// Package classic reads experiment files in the classic schema, whose keys begin with test_title
// and datatbase_id_to_..., spelled so. It reports every problem at its place under the classic key.
// It knows the classic keys but not the compact ones: package config turns a [File] into an
// experiment.
package classic

import (
	"maps"
	"slices"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// BucketKey is the path to the key that says where to upload.
const BucketKey = "config_client_machine_initial.google_cloud_storage_bucket_name"

// Keys returns the top-level keys in the schema.
func Keys() []string {
	return slices.Sorted(maps.Keys((&reader{}).top(&written{})))
}

// Read reads a file in the classic schema and reports its problems to r.
func Read(r *yamlfile.Reader, root *yamlfile.Node, lookup Lookup) *File {
	r.OldBooleans = true
	return (&reader{r, lookup}).file(root)
}
