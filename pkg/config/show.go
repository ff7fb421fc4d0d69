package config

import (
	"fmt"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// Show writes an experiment as a compact file with every default filled in, also
// those of the drivers' options, each under its line of help. Read again it gives
// the same experiment except for Path, Classic and places.
func Show(e *Experiment) ([]byte, error) {
	node := fileSection(nil).Show(&fileSpec{Experiment: *e}).Node()
	for _, d := range e.Databases {
		if _, err := yamlfile.EncodeOptions(d.Options); err != nil {
			return nil, fmt.Errorf("show %s: %w", d.ID, err)
		}
	}
	data, err := yamlfile.Dump(node)
	if err != nil {
		return nil, fmt.Errorf("show experiment: %w", err)
	}
	return data, nil
}

func showDatabase(c Catalog, d Database) *yamlfile.Node {
	return databaseSection(c, nil).Show(&databaseSpec{Database: d}).Node()
}

func showLoad(c Catalog, l workload.Load) *yamlfile.Node {
	spec := loadSpec{Load: l}
	spec.judge.Is = judgeSpecOf(l.Judge)
	spec.expect.Is = l.Expect
	for _, s := range l.Mix {
		spec.mix = append(spec.mix, shareSpec{Share: s})
	}
	return loadSection(c).Show(&spec).Node()
}

// showOptions shows a driver's options with their help. Show reports options that
// cannot be encoded.
func showOptions(d *databaseSpec) *yamlfile.Node {
	node, err := yamlfile.ShowOptions(d.Options)
	if err != nil {
		return nil
	}
	return node
}
