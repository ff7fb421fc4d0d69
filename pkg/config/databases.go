package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// databaseSection declares the keys in a database. Some, such as hosts and options, are also keys
// at the top of the file or in driver options.
func databaseSection(c Catalog, options schema) section[databaseSpec] {
	return section[databaseSpec]{Fields: slices.Concat(
		releaseFields(), memberFields(), sharedFields(),
		abilityFields(eachAbilities(), true, func(d *databaseSpec) *given { return &d.given }, showAbility),
		databaseAccessFields(), databaseLoadFields(c), []field[databaseSpec]{optionsField(options)},
	)}
}

// releaseFields declares database names and the release that runs.
func releaseFields() []field[databaseSpec] {
	return []field[databaseSpec]{
		databaseKey[string]{
			Row:  row{Name: "tag", Usually: "`NAME-VERSION` or `NAME-LABEL`", Meaning: "names its folder and its column; tags must differ"},
			Kind: yamlfile.TextKind(), At: func(d *databaseSpec) *string { return &d.Tag },
		}.Field(),
		optionalText("description", "text for people", yamlfile.ProseKind(), func(d *databaseSpec) *string { return &d.Description }),
		optionalText("version", "release to run, such as `v3.6.16`", yamlfile.TextKind(), func(d *databaseSpec) *string { return &d.Version }),
		databaseKey[bool]{
			Row:  row{Name: "install", Preset: "false", Meaning: "whether the release is fetched; excludes `binary`"},
			Kind: yamlfile.TruthKind(), At: func(d *databaseSpec) *bool { return &d.Install },
			Shown: func(d *databaseSpec) bool { return d.Binary == "" },
		}.Field(),
		optionalText("binary", "executable to run instead of the driver's", yamlfile.TextKind(), func(d *databaseSpec) *string { return &d.Binary }),
	}
}

// memberFields declares database members.
func memberFields() []field[databaseSpec] {
	return []field[databaseSpec]{
		databaseKey[[]written[hostSpec]]{
			Row:  row{Name: "hosts", Usually: "the file's", Meaning: "its machines"},
			Kind: hostList(), At: func(d *databaseSpec) *[]written[hostSpec] { return &d.hosts }, Node: showHosts,
		}.Field(),
		databaseKey[string]{
			Row:  row{Name: "defaults", Usually: "the file's", Meaning: "whose defaults apply to options that are not set: `dbtester` or `upstream`"},
			Kind: yamlfile.WordKind(DefaultsOwn, DefaultsUpstream), At: func(d *databaseSpec) *string { return &d.Defaults },
			Shown: func(d *databaseSpec) bool { return d.Defaults == DefaultsUpstream },
		}.Field(),
		databaseKey[int]{
			Row:  row{Name: "members", Unit: "members", Usually: "the file's", Meaning: "number of cluster members, which run on its first hosts"},
			Kind: yamlfile.SmallKind(), At: func(d *databaseSpec) *int { return &d.members }, Node: leftOut[databaseSpec],
		}.Field(),
		databaseKey[[]string]{
			Row:  row{Name: "endpoints", Meaning: "client addresses (`host:port`) of a cluster that is already running"},
			Kind: yamlfile.ListKind(endpoint(), true), At: func(d *databaseSpec) *[]string { return &d.Endpoints },
			Shown: func(d *databaseSpec) bool { return len(d.Endpoints) > 0 },
		}.Field(),
	}
}

// sharedFields declares the keys for a load on a cluster that others use.
func sharedFields() []field[databaseSpec] {
	return []field[databaseSpec]{
		optionalText("prefix", "prefix for all keys on `endpoints`; the default is `dbtester-` with the run's id and the tag. See [clusters that others use](shared.md)",
			prefixKind(), func(d *databaseSpec) *string { return &d.Prefix }),
		databaseKey[bool]{
			Row:  row{Name: "cleanup", Usually: "the file's", Meaning: "whether the keys below the prefix are removed after the load, also after an interrupt"},
			Kind: yamlfile.TruthKind(), At: func(d *databaseSpec) *bool { return &d.Cleanup },
			Shown: func(d *databaseSpec) bool { return len(d.Endpoints) > 0 },
		}.Field(),
		databaseKey[bool]{
			Row:  row{Name: "reuse", Preset: "false", Meaning: "whether other users' keys may lie below the prefix; those with the same numbers as the load's keys are overwritten; see [whose keys](shared.md#whose-keys)"},
			Kind: yamlfile.TruthKind(), At: func(d *databaseSpec) *bool { return &d.Reuse },
			Shown: func(d *databaseSpec) bool { return d.Reuse },
		}.Field(),
	}
}

// databaseAccessFields declares the keys for connections from clients to members.
func databaseAccessFields() []field[databaseSpec] {
	return []field[databaseSpec]{
		part[databaseSpec, TLS]{
			Row:     row{Name: "tls", Usually: "the file's", Meaning: "`{}` turns it off"},
			Section: tlsSection(), At: func(d *databaseSpec) *written[TLS] { return &d.tls }, Node: showTLS,
		}.Field(),
		part[databaseSpec, Auth]{
			Row:     row{Name: "auth", Usually: "the file's", Meaning: "`{}` turns it off"},
			Section: authSection(), At: func(d *databaseSpec) *written[Auth] { return &d.auth }, Node: showAuth,
		}.Field(),
	}
}

// databaseLoadFields declares the steps and load for a database.
func databaseLoadFields(c Catalog) []field[databaseSpec] {
	return []field[databaseSpec]{
		part[databaseSpec, Steps]{
			Row:     row{Name: "steps", Usually: "the file's", Meaning: "replaces the file's key by key"},
			Section: stepsSection(), At: func(d *databaseSpec) *written[Steps] { return &d.steps },
			Node: func(d *databaseSpec) *yamlfile.Node { return stepsSection().Show(&d.Steps).Flow() },
		}.Field(),
		part[databaseSpec, loadSpec]{
			Row:     row{Name: "load", Usually: "the file's", Meaning: "replaces the file's key by key"},
			Section: loadSection(c), At: func(d *databaseSpec) *written[loadSpec] { return &d.load },
			Node: func(d *databaseSpec) *yamlfile.Node { return showLoad(c, d.Load) },
		}.Field(),
		part[databaseSpec, workload.Swept]{
			Row:     row{Name: "swept", Meaning: "its part in a sweep, which `config show` writes instead of `sweep`: the [`swept` keys](sweep.md#keys-of-swept)"},
			Section: sweptSection(), At: func(d *databaseSpec) *written[workload.Swept] { return &d.swept },
			Node: func(d *databaseSpec) *yamlfile.Node {
				if d.Swept == nil {
					return nil
				}
				return sweptSection().Show(d.Swept).Flow()
			},
		}.Field(),
	}
}

// optionsField declares driver options. They are decoded over the defaults.
func optionsField(options schema) field[databaseSpec] {
	return field[databaseSpec]{
		Row:    row{Name: "options", Unit: "mapping", Usually: "the driver's", Meaning: "database options; `config show` lists them with their meanings"},
		Schema: func() schema { return options },
		Copy:   func(to, from *databaseSpec) { to.Options = from.Options },
		Node:   showOptions,
		Read: func(r *yamlfile.Reader, _, key string, node *yamlfile.Node, w *written[databaseSpec]) bool {
			yamlfile.ReadOptions(r, key, node, w.Is.Options)
			return true
		},
	}
}

func endpoint() kind[string] {
	k := yamlfile.TextKind()
	k.Parse = yamlfile.Endpoint
	k.Schema = schema{"type": "string"}
	return k
}

func readDatabases(r *yamlfile.Reader, c Catalog, path, key string, node *yamlfile.Node) []*written[databaseSpec] {
	var list []*written[databaseSpec]
	for _, p := range r.Pairs(key, node) {
		entry, ok := c.entry(r, p.Key)
		if !ok {
			continue
		}
		d := newDatabase(p.Key, entry)
		databaseSection(c, nil).ReadInto(r, yamlfile.JoinPath(path, d.Is.ID), d.Is.ID, p.Value, d)
		list = append(list, d)
	}
	return list
}

// newDatabase returns a database that gives only its id.
func newDatabase(id *yamlfile.Node, entry database.Database) *written[databaseSpec] {
	d := databaseSpec{entry: entry, id: id}
	d.ID = id.Value
	d.Name, d.Label, _ = strings.Cut(id.Value, "__")
	d.Options = entry.New()
	w := databaseSection(nil, nil).None()
	w.Is = d
	return &w
}

func showHosts(d *databaseSpec) *yamlfile.Node {
	if len(d.Hosts) == 0 {
		return nil
	}
	return yamlfile.ListNode(d.Hosts, false, showHost)
}

// tagPattern matches valid names for a folder below a result folder and for a column.
var tagPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+,=@-]*$`)

// validTag returns why a tag cannot name a folder, or "".
func validTag(tag string) string {
	switch {
	case !tagPattern.MatchString(tag):
		return "a tag is made of a-z A-Z 0-9 _ . + , = @ - and starts with a letter, digit or _"
	case len(tag) > 128:
		return "a tag has at most 128 characters"
	case tag == "report":
		return "the report uses that name"
	}
	return ""
}

// makeTag returns the default tag: NAME-VERSION, NAME-LABEL or NAME.
func makeTag(name, label, version string) string {
	switch {
	case version != "":
		return name + "-" + strings.Map(func(c rune) rune {
			if strings.ContainsRune(labelChars, c) {
				return c
			}
			return '-'
		}, version)
	case label != "":
		return name + "-" + label
	}
	return name
}

func showDatabase(c Catalog, d Database) *yamlfile.Node {
	return databaseSection(c, nil).Show(&databaseSpec{Database: d}).Node()
}

// showOptions shows driver options and their help. Show reports options that cannot be encoded.
func showOptions(d *databaseSpec) *yamlfile.Node {
	node, err := yamlfile.ShowOptions(d.Options)
	if err != nil {
		return nil
	}
	return node
}

// databasesSchema describes the mapping that holds databases by id.
func databasesSchema(c Catalog) schema {
	ids := schema{}
	for _, e := range c {
		options := yamlfile.OptionsSchema(yamlfile.Options(e.New()))
		ids["^"+regexp.QuoteMeta(e.Name)+"(__["+`a-zA-Z0-9_.+-`+"]+)?$"] = databaseSection(c, options).Schema()
	}
	return schema{"type": "object", "patternProperties": ids, "additionalProperties": false}
}
