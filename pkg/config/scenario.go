package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/ability/discovery"
	"github.com/coreos/dbtester/pkg/ability/watchers"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// scenario is a situation that users know. It stands for several keys, which replace it before the
// file is read.
type scenario struct {
	name, meaning string
	// key is the key that gets the scenario mapping without the name, and keys is its schema.
	key  string
	keys schema
	// presets are the keys that the mapping may lack, load those that the load in the file may
	// lack.
	presets, load func(given map[string]string) map[string]string
}

// scenarios lists them.
func scenarios() []scenario {
	return []scenario{{
		name: "service-discovery", meaning: "service instances register, some die, some are deployed, and consumers watch which are there",
		key: "discovery", keys: discovery.Keys().Fields().Schema(),
		presets: func(given map[string]string) map[string]string {
			instances, err := strconv.Atoi(given["instances"])
			if err != nil || instances < 1 { // which is reported where it is read
				instances = 200
			}
			return map[string]string{
				"instances": "200", "consumers": "50", "notice": "20s",
				"deaths": strconv.Itoa(max(instances/10, 1)), "deploys": strconv.Itoa(instances / 20),
			}
		},
		load: func(given map[string]string) map[string]string {
			return smallLoad(scenarioTime + noticeOf(given, time.Minute))
		},
	}, {
		name: "leader", meaning: "instances elect a leader, which dies, and consumers watch who leads",
		key: "discovery", keys: discovery.Keys().Fields().Schema(),
		presets: func(map[string]string) map[string]string {
			return map[string]string{"instances": "10", "consumers": "50", "notice": "20s", "elections": elections}
		},
		load: func(given map[string]string) map[string]string {
			n, err := strconv.Atoi(cmp.Or(given["elections"], elections))
			if err != nil || n < 1 { // which is reported where it is read
				n = 1
			}
			return smallLoad(time.Duration(n)*electionTime(noticeOf(given, 20*time.Second)) + scenarioTime)
		},
	}, {
		name: "config-push", meaning: "consumers watch one key with their configuration, which is pushed again and again",
		key: "watch", keys: watchers.Keys().Fields().Schema(),
		presets: func(map[string]string) map[string]string {
			return map[string]string{"watchers": "1000", "of": "key", "values": "true"}
		},
		load: func(map[string]string) map[string]string {
			return map[string]string{
				"operation": "update", "keys": "1", "rate": "2", "clients": "2", "key_size": "32", "value_size": "1024", "duration": "90s",
			}
		},
	}}
}

// noticeOf returns the notice if it is given, else another one. A wrong notice is reported where it
// is read.
func noticeOf(given map[string]string, other time.Duration) time.Duration {
	notice, err := time.ParseDuration(given["notice"])
	if err != nil || notice <= 0 {
		return other
	}
	return notice
}

// smallLoad returns the keys for a load beside instances.
func smallLoad(duration time.Duration) map[string]string {
	return map[string]string{
		"operation": "update", "keys": "1000", "rate": "20", "clients": "4", "key_size": "32", "value_size": "128", "duration": duration.String(),
	}
}

// elections is the number of times that the leader dies in the scenario.
const elections = "3"

// electionTime is the time that a scenario's load has for each election. It covers the end of the
// leader's session and the time in which Consul then refuses the key, and suffices for Consul
// sessions, whose shortest promise is 20 s.
func electionTime(notice time.Duration) time.Duration {
	return 2 * (max(notice, 15*time.Second) + 10*time.Second)
}

// scenarioTime is the length of the load in a scenario, without the time until the last death is
// known.
const scenarioTime = 70 * time.Second

// instead returns the load keys that replace a preset.
func instead() map[string][]string {
	return map[string][]string{"operation": {"mix", "workload"}, "duration": {"requests", "steps"}, "rate": {"steps"}, "clients": {"steps"}, "value_size": {"value_sizes"}}
}

// scenarioField declares the key, which [reader.expand] has replaced.
func scenarioField() field[fileSpec] {
	var names, meanings []string
	properties := schema{}
	for _, s := range scenarios() {
		names = append(names, s.name)
		meanings = append(meanings, fmt.Sprintf("`name: %s` (%s), with the [`%s` keys](#keys-of-%s)", s.name, s.meaning, s.key, s.key))
		maps.Copy(properties, s.keys["properties"].(schema))
	}
	properties["name"] = schema{"enum": names}
	return field[fileSpec]{
		Row: row{Name: "scenario", Unit: "mapping", Meaning: "a [situation](scenarios.md) that stands for its load and other keys, which `dbtester config show` prints: " + strings.Join(meanings, ", ")},
		Schema: func() schema {
			return schema{"type": "object", "properties": properties, "additionalProperties": false}
		},
		Copy: func(_, _ *fileSpec) {},
		Read: func(*yamlfile.Reader, string, string, *yamlfile.Node, *written[fileSpec]) bool { return true },
	}
}

// expand returns a document with the keys for which its scenario stands, or the document itself if
// it has no scenario.
func (r *reader) expand(root *yamlfile.Node) *yamlfile.Node {
	at := slices.IndexFunc(yamlfile.TopKeys(root), func(key *yamlfile.Node) bool { return key.Value == "scenario" })
	if at < 0 {
		return root
	}
	value := yamlfile.Follow(root.Content[2*at+1])
	pairs := r.Pairs("scenario", value)
	s, ok := r.scenarioOf(pairs, value)
	if !ok {
		return root
	}
	given := map[string]string{}
	var own []yamlfile.Pair
	for _, p := range pairs {
		if p.Key.Value != "name" {
			own = append(own, p)
			given[p.Key.Value] = p.Value.Value
		}
	}
	expanded := *root
	expanded.Content = slices.Clone(root.Content)
	for i, key := range yamlfile.TopKeys(root) {
		switch key.Value {
		case s.key:
			r.Errorf(key, "the scenario %s stands for %s: give its keys in the scenario, or leave the scenario out", s.name, s.key)
			return root
		case "load":
			load := yamlfile.Follow(root.Content[2*i+1])
			expanded.Content[2*i+1] = mappingOf(load, r.Pairs("load", load), s.load(given), instead())
		}
	}
	add := func(key string, node *yamlfile.Node) {
		expanded.Content = append(expanded.Content, placed(yamlfile.TextNode(key), value), node)
	}
	if !yamlfile.HasKey(root, "load") {
		add("load", mappingOf(value, nil, s.load(given), nil))
	}
	add(s.key, mappingOf(value, own, s.presets(given), map[string][]string{"notice": {"ttl"}, "values": {"kind"}}))
	return &expanded
}

// scenarioOf returns the scenario that a mapping names. It reports a mapping without a known name.
func (r *reader) scenarioOf(pairs []yamlfile.Pair, value *yamlfile.Node) (scenario, bool) {
	var names []string
	for _, s := range scenarios() {
		names = append(names, s.name)
	}
	for _, p := range pairs {
		if p.Key.Value != "name" {
			continue
		}
		for _, s := range scenarios() {
			if p.Value.Value == s.name {
				return s, true
			}
		}
		r.Errorf(p.Value, "scenario: name must be one of %s, got %s%s", strings.Join(names, ", "), yamlfile.Describe(p.Value), yamlfile.Hint(p.Value.Value, names))
		return scenario{}, false
	}
	if yamlfile.IsMapping(value) || yamlfile.IsNull(value) {
		r.Errorf(value, "scenario needs a name, such as name: %s", names[0])
	}
	return scenario{}, false
}

// mappingOf returns a mapping of some pairs and the presets that they lack, in alphabetical order,
// at a node's place. A preset is left out if a key is given instead.
func mappingOf(at *yamlfile.Node, pairs []yamlfile.Pair, presets map[string]string, instead map[string][]string) *yamlfile.Node {
	m := placed(yamlfile.Mapping{}.Node(), at)
	given := map[string]bool{}
	for _, p := range pairs {
		given[p.Key.Value] = true
		m.Content = append(m.Content, p.Key, p.Value)
	}
	var names []string
	for name := range presets {
		if !given[name] && !slices.ContainsFunc(instead[name], func(key string) bool { return given[key] }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		m.Content = append(m.Content, placed(yamlfile.TextNode(name), at), placed(yamlfile.PlainNode(presets[name]), at))
	}
	return m
}

// placed gives a node another node's place.
func placed(node, at *yamlfile.Node) *yamlfile.Node {
	node.Line, node.Column = at.Line, at.Column
	return node
}
