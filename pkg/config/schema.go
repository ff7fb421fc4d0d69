package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coreos/dbtester/pkg/ability/all"
)

// Schema returns the JSON Schema for compact experiment files with the databases in a catalog.
// Editors complete and check files with it. It accepts some files that [Read] refuses, because it
// does not compare values with one another.
func Schema(catalog Catalog) ([]byte, error) {
	s := fileSection(catalog).Schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "dbtester experiment"
	s["type"] = "object"
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	return append(data, '\n'), nil
}

// Tables returns the keys of every mapping in an experiment file as Markdown tables, each with its
// heading.
func Tables(catalog Catalog) []Table {
	return slices.Concat([]Table{
		{"Keys of a file", fileSection(catalog).Table()},
		{"Keys of a database", databaseSection(catalog, nil).Table()},
		{"Keys of a host", hostSection().Table()},
		{"Keys of a load", loadSection(catalog).Table()},
		{"Keys of a step", stepSection().Table()},
		{"Keys of preload", preloadSection().Table()},
		{"Keys of sweep", sweepSection().Table()},
		{"Keys of need", needSection().Table()},
		{"Keys of swept", sweptSection().Table()},
		{"Keys of judge", judgeSection().Table()},
		{"Keys of value_sizes", sizeLawSection().Table()},
		{"Keys of expect", expectSection().Table()},
		{"Keys of steps", stepsSection().Table()},
	}, abilityTables(), []Table{
		{"Keys of tls", tlsSection().Table()},
		{"Keys of auth", authSection().Table()},
		{"Keys of a plot", plotSection().Table()},
		{"Keys of upload", uploadSection().Table()},
		{"Keys of inputs", inputsSection().Table()},
		{"Keys of report", reportSection().Table()},
		{"Keys of an image", imageSection().Table()},
	})
}

// Table documents the keys of one mapping in Markdown.
type Table struct{ Heading, Text string }

// abilityTables documents ability keys.
func abilityTables() (tables []Table) {
	for _, keys := range keysOf(all.Abilities()) {
		if table := keys.Table(); table != "" {
			tables = append(tables, Table{"Keys of " + keys.Row(false).Name, table})
		}
	}
	return tables
}
