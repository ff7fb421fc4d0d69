package config

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/coreos/dbtester/pkg/yamlfile"
)

// fileSection declares the top-level keys in a file.
func fileSection(c Catalog) section[fileSpec] {
	return section[fileSpec]{Fields: slices.Concat(runFields(), clusterFields(c), reportFields())}
}

// runFields declares the experiment name and the keys for its runs.
func runFields() []field[fileSpec] {
	return []field[fileSpec]{
		fileKey[string]{
			Row:  row{Name: "title", Usually: "the file's name", Meaning: "report heading"},
			Kind: yamlfile.ProseKind(), At: func(f *fileSpec) *string { return &f.Title },
		}.Field(),
		fileKey[string]{
			Row:  row{Name: "description", Meaning: "text below the heading"},
			Kind: yamlfile.ProseKind(), At: func(f *fileSpec) *string { return &f.Description },
			Shown: func(f *fileSpec) bool { return f.Description != "" },
		}.Field(),
		fileKey[uint64]{
			Row:  row{Name: "seed", Preset: "1", Meaning: "seed for keys, values and their order; 0 means the default"},
			Kind: yamlfile.UnsignedKind(), At: func(f *fileSpec) *uint64 { return &f.Seed },
		}.Field(),
		fileKey[int]{
			Row: row{Name: "trials", Preset: "1",
				Meaning: "how many times the experiment runs, each time on fresh data directories and with the databases in alternating order, so that of any two databases each is first in half the trials"},
			Kind: yamlfile.SmallKind(), At: func(f *fileSpec) *int { return &f.Trials },
		}.Field(),
		fileKey[time.Duration]{
			Row:  row{Name: "settle", Preset: "5s", Meaning: "pause between trials"},
			Kind: yamlfile.DurationKind(), At: func(f *fileSpec) *time.Duration { return &f.Settle },
		}.Field(),
		fileKey[time.Duration]{
			Row: row{Name: "sample", Preset: "1s",
				Meaning: "interval at which machines are sampled, from `100ms` to `1s`, in whole parts of a second; reports and classic files have one row per second"},
			Kind: yamlfile.DurationKind(), At: func(f *fileSpec) *time.Duration { return &f.Sample },
		}.Field(),
		fileKey[bool]{
			Row:  row{Name: "metrics", Preset: "true", Meaning: "whether members' own metrics are read: each second by agents, or for `endpoints` by control, as `scrape` says; see [metrics](metrics.md)"},
			Kind: yamlfile.TruthKind(), At: func(f *fileSpec) *bool { return &f.Metrics },
		}.Field(),
		fileKey[string]{
			Row:  row{Name: "results", Preset: "results", Meaning: "folder for the result folders"},
			Kind: yamlfile.TextKind(), At: func(f *fileSpec) *string { return &f.Results },
		}.Field(),
	}
}

// clusterFields declares machines, databases and the keys they share.
func clusterFields(c Catalog) []field[fileSpec] {
	return slices.Concat(machineFields(), accessFields(), abilityFields(eachAbilities(), false, abilitiesOfFile, nil), stepFields(c), []field[fileSpec]{databasesField(c)})
}

// machineFields declares the machines for members and generators, and their agents.
func machineFields() []field[fileSpec] {
	return []field[fileSpec]{
		fileKey[[]written[hostSpec]]{
			Row: row{Name: "hosts",
				Meaning: "the database machines: an address, an address with its agent's port, [`dns:NAME`](#hosts-by-name), or a mapping with the [host keys](#keys-of-a-host)"},
			Kind: hostList(), At: func(f *fileSpec) *[]written[hostSpec] { return &f.hosts }, Node: leftOut[fileSpec],
		}.Field(),
		fileKey[[]written[hostSpec]]{
			Row: row{Name: "generators", Usually: "control alone",
				Meaning: "agents that issue the load together, on separate machines: each an address, an address with its agent's port, or a mapping with `addr` and `agent_port`; see [several client machines](scale.md)"},
			Kind: hostList(), At: func(f *fileSpec) *[]written[hostSpec] { return &f.generators }, Node: showGenerators,
		}.Field(),
		fileKey[string]{
			Row: row{Name: "defaults", Preset: DefaultsOwn,
				Meaning: "whose [defaults](#defaults) apply to options that the file does not give: `dbtester`, or `upstream` for each release's own"},
			Kind: yamlfile.WordKind(DefaultsOwn, DefaultsUpstream), At: func(f *fileSpec) *string { return &f.defaults }, Node: leftOut[fileSpec],
		}.Field(),
		fileKey[int]{
			Row: row{Name: "members", Unit: "members", Usually: "the hosts",
				Meaning: "number of cluster members, such as 1, 3 or 5, which run on the first hosts"},
			Kind: yamlfile.SmallKind(), At: func(f *fileSpec) *int { return &f.members }, Node: leftOut[fileSpec],
		}.Field(),
		fileKey[int]{
			Row:  row{Name: "agent_port", Preset: "3500", Meaning: "port that agents listen on"},
			Kind: yamlfile.PortKind(), At: func(f *fileSpec) *int { return &f.agentPort }, Node: leftOut[fileSpec],
		}.Field(),
		fileKey[string]{
			Row:  row{Name: "agent_certs", Meaning: "folder with control's certificate for agents on other machines, such as `certs/control`, which `dbtester certs init` makes; `control --certs` overrides it"},
			Kind: yamlfile.FilledKind(), At: func(f *fileSpec) *string { return &f.AgentCerts },
			Shown: func(f *fileSpec) bool { return f.AgentCerts != "" },
		}.Field(),
	}
}

// accessFields declares the keys for connections to clusters, and for clusters that others use.
func accessFields() []field[fileSpec] {
	return []field[fileSpec]{
		part[fileSpec, TLS]{
			Row:     row{Name: "tls", Meaning: "encrypts connections: the [`tls` keys](#keys-of-tls)"},
			Section: tlsSection(), At: func(f *fileSpec) *written[TLS] { return &f.tls },
		}.Field(),
		part[fileSpec, Auth]{
			Row:     row{Name: "auth", Meaning: "client credentials: the [`auth` keys](#keys-of-auth)"},
			Section: authSection(), At: func(f *fileSpec) *written[Auth] { return &f.auth },
		}.Field(),
		fileKey[bool]{
			Row:  row{Name: "cleanup", Preset: "false", Meaning: "whether keys that a load wrote on `endpoints` are removed after it; see [clusters that others use](shared.md)"},
			Kind: yamlfile.TruthKind(), At: func(f *fileSpec) *bool { return &f.cleanup }, Node: leftOut[fileSpec],
		}.Field(),
	}
}

// stepFields declares the load and the steps in a run.
func stepFields(c Catalog) []field[fileSpec] {
	return slices.Concat([]field[fileSpec]{
		scenarioField(),
		part[fileSpec, loadSpec]{
			Row:     row{Name: "load", Meaning: "requests that clients send: the [`load` keys](workloads.md#keys-of-a-load)"},
			Section: loadSection(c), At: func(f *fileSpec) *written[loadSpec] { return &f.load },
		}.Field(),
	}, abilityFields(searches(), false, abilitiesOfFile, showWhole), []field[fileSpec]{
		part[fileSpec, sweepSpec]{
			Row:     row{Name: "sweep", Meaning: "a [curve](sweep.md) with a point for each rate, client count, data size or member count: the [`sweep` keys](sweep.md#keys-of-sweep)"},
			Section: sweepSection(), At: func(f *fileSpec) *written[sweepSpec] { return &f.sweep },
		}.Field(),
		needField(),
		part[fileSpec, Steps]{
			Row:     row{Name: "steps", Meaning: "which steps a run carries out: the [`steps` keys](#keys-of-steps)"},
			Section: stepsSection(), At: func(f *fileSpec) *written[Steps] { return &f.steps },
			Node: func(f *fileSpec) *yamlfile.Node { return stepsSection().Show(&f.Steps).Flow() },
		}.Field(),
	})
}

// databasesField declares the databases by their ids.
func databasesField(c Catalog) field[fileSpec] {
	return field[fileSpec]{
		Row: row{Name: "databases", Unit: "mapping", Usually: "required",
			Meaning: "databases by `NAME` or `NAME__LABEL`, each with the [database keys](#keys-of-a-database)"},
		Schema: func() schema { return databasesSchema(c) },
		Copy:   func(to, from *fileSpec) { to.databases = from.databases },
		Read: func(r *yamlfile.Reader, path, key string, node *yamlfile.Node, w *written[fileSpec]) bool {
			w.Is.databases, w.Is.at = readDatabases(r, c, path, key, node), node
			return true
		},
		Node: func(f *fileSpec) *yamlfile.Node {
			var m yamlfile.Mapping
			for _, d := range f.Databases {
				m.Add(d.ID, showDatabase(c, d))
			}
			return m.Node()
		},
	}
}

// reportFields declares reports, and where records are copied.
func reportFields() []field[fileSpec] {
	return slices.Concat([]field[fileSpec]{
		fileKey[[]Plot]{
			Row:  row{Name: "plots", Usually: "fifteen plots", Meaning: "time plots: each a column, or a mapping with the [plot keys](#keys-of-a-plot)"},
			Kind: yamlfile.ListKind(plotKind(), false), At: func(f *fileSpec) *[]Plot { return &f.Plots },
		}.Field(),
	}, abilityFields(wholeAbilities(), false, abilitiesOfFile, showWhole), []field[fileSpec]{
		part[fileSpec, Upload]{
			Row:     row{Name: "upload", Meaning: "where result folders are copied: the [`upload` keys](#keys-of-upload)"},
			Section: uploadSection(), At: func(f *fileSpec) *written[Upload] { return &f.upload },
			Node: func(f *fileSpec) *yamlfile.Node {
				if f.Upload == nil {
					return nil
				}
				return uploadSection().Show(f.Upload).Node()
			},
		}.Field(),
		fileKey[map[string]string]{
			Row:  row{Name: "export", Meaning: "paths to which control copies result files, by their names in a tag's folder"},
			Kind: yamlfile.TextMapKind(), At: func(f *fileSpec) *map[string]string { return &f.Export },
			Shown: func(f *fileSpec) bool { return len(f.Export) > 0 },
		}.Field(),
		fileKey[map[string]Inputs]{
			Row:  row{Name: "inputs", Meaning: "classic files that analyze reads, by tag: the [`inputs` keys](#keys-of-inputs)"},
			Kind: inputsKind(), At: func(f *fileSpec) *map[string]Inputs { return &f.Inputs },
			Shown: func(f *fileSpec) bool { return len(f.Inputs) > 0 },
		}.Field(),
		fileKey[Report]{
			Row:  row{Name: "report", Meaning: "files that analyze writes besides its report: the [`report` keys](#keys-of-report)"},
			Kind: yamlfile.SectionKind("", reportSection(), false), At: func(f *fileSpec) *Report { return &f.Report },
			Shown: func(f *fileSpec) bool { return !reflect.DeepEqual(f.Report, Report{}) },
		}.Field(),
	})
}

// inputsKind maps tags to their inputs, shown in alphabetical order.
func inputsKind() kind[map[string]Inputs] {
	return kind[map[string]Inputs]{
		Unit: "mapping",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (map[string]Inputs, bool) {
			all := map[string]Inputs{}
			for _, p := range r.Pairs(key, node) {
				all[p.Key.Value] = inputsSection().Read(r, "", p.Key.Value, p.Value).Is
			}
			return all, true
		},
		Node: func(all map[string]Inputs) *yamlfile.Node {
			var m yamlfile.Mapping
			for _, tag := range slices.Sorted(maps.Keys(all)) {
				in := all[tag]
				m.Add(tag, inputsSection().Show(&in).Node())
			}
			return m.Node()
		},
		Nested: func() schema {
			return schema{"type": []string{"object", "null"}, "additionalProperties": inputsSection().Schema()}
		},
	}
}
