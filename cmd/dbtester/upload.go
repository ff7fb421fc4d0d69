package main

import (
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v4"

	"github.com/coreos/dbtester/control"
	"github.com/coreos/dbtester/pkg/config"
)

// errNoUpload is what to do about an upload that cannot be.
var errNoUpload = errors.New("say --no-upload to run without it")

// checkUpload refuses an upload that is bound to fail, at the place in the file
// that asks for it.
func checkUpload(o control.Options) error {
	err := control.CheckUpload(o)
	if err == nil {
		return nil
	}
	if at := uploadPlace(o.Experiment); at != "" {
		err = fmt.Errorf("%s: %w", at, err)
	}
	return usageError{fmt.Errorf("%w: %w", err, errNoUpload)}
}

// uploadPlace is where the file of an experiment asks for an upload, as
// file:line:col: for all databases or for one that is to run; "" if that is not
// found.
func uploadPlace(e *config.Experiment) string {
	data, err := os.ReadFile(e.Path)
	if err != nil {
		return ""
	}
	var root yaml.Node
	if err := yaml.Load(data, &root); err != nil {
		return ""
	}
	ids := map[string]bool{}
	for _, db := range e.Databases {
		ids[db.ID] = true
	}
	place := ""
	findUploads(&root, nil, func(path []string, value *yaml.Node) {
		general := len(path) == 2             // steps, upload
		own := len(path) == 4 && ids[path[1]] // databases, ID, steps, upload
		if place == "" && (general || own) {
			place = fmt.Sprintf("%s:%d:%d", e.Path, value.Line, value.Column)
		}
	})
	return place
}

// findUploads calls found for every step of an upload that is asked for, compact or
// classic, with the keys that lead there.
func findUploads(node *yaml.Node, path []string, found func(path []string, value *yaml.Node)) {
	if node.Kind != yaml.MappingNode {
		for _, child := range node.Content {
			findUploads(child, path, found)
		}
		return
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i].Value, node.Content[i+1]
		here := append(path[:len(path):len(path)], key)
		step := key == "step4_upload_logs" || key == "upload" && len(path) > 0 && path[len(path)-1] == "steps"
		if step && value.Value == "true" {
			found(here, value)
		}
		findUploads(value, here, found)
	}
}
