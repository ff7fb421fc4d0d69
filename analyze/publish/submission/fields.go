package submission

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/files/pattern"
)

// treatment makes a recorded text safe to publish.
type treatment func(n *names, s string) string

func asWord(n *names, s string) string    { return n.word(s) }
func asText(n *names, s string) string    { return n.text(s) }
func asHost(n *names, s string) string    { return n.host(s) }
func asAddress(n *names, s string) string { return n.address(s) }
func asMachine(n *names, s string) string { return n.own(kindMachine, s) }
func asNetwork(n *names, s string) string { return n.own(kindNetwork, s) }
func asBase(n *names, s string) string    { return n.text(filepath.Base(s)) }
func asRule(_ *names, s string) string    { return s } // a driver's own log rules

// asTime keeps only times.
func asTime(_ *names, s string) string {
	if _, err := time.Parse(time.RFC3339Nano, s); err != nil {
		return removed
	}
	return s
}

var hexadecimal = pattern.New(`^[0-9a-f]{8,128}$`)

// asHash keeps hashes and run ids, which are random.
func asHash(_ *names, s string) string {
	if !hexadecimal().MatchString(s) {
		return removed
	}
	return s
}

// asDevice keeps the names of local devices. Other names identify the machine that holds the disk.
func asDevice(n *names, s string) string {
	if strings.ContainsAny(s, ":/") {
		return removed
	}
	return n.word(s)
}

// treatments maps text fields of manifests and events to treatments, by their own name or by their
// parent's name and their own. A field that is not listed is left out, so nothing is published by
// accident. Numbers and booleans are kept.
var treatments = fieldsOf(map[string]treatment{
	"started ended ready load_start load_end start end issue_end from to date time behind_since": asTime,
	"run_id sha256": asHash,
	"title description text error changes.by help note notes exit unavailable lost jvm prefix os kernel source default":  asText,
	"mount_options model queue cpu_model value clock_sync time_service":                                                  asText,
	"state database id label tag asked_version built fsync durability bind version commit go code kind event command":    asWord,
	"operation workload key_law arrival backlog read read_mode range_mode failover law reason unheld compiler key of at": asWord,
	"release.name changed.name settings.release filesystem cpu_governor swept.value class unit log format":               asWord,
	"files file changes.changed changes.shortened changes.removed changes.added":                                         asWord,
	"log_rules.pattern log_rules.value log_rules.event log_rules.unit log_rules.help log_times.pattern log_times.layout": asRule,
	"client.name host.name other_load.host": asHost,
	"addr agent endpoint listen target":     asAddress,
	"locks_held.what locks_held.by locks_held.waits locks_held.fence locks_held.delayed locks_held.rule":                                               asText,
	"locks_held.why_left stages.why stages.why_refused load_sessions.why load_locks.why load_locks.by load_locks.fence locks.why locks.by locks.fence": asText,
	"faults.detail faults.run faults.saw faults.saw_over faults.failed witnesses.fault":                                                                asText,
	"consistency.why consistency.promise consistency.not_read_back":                                                                                    asText,
	"sessions_held.what sessions_held.rule sessions_held.renewal sessions_held.watch":                                                                  asText,
	"sessions_held.why sessions_held.why_left watched.how watched.broken watched.behind_why watched.slow_why watched.gap_why":                          asText,
	"discovered.what discovered.rule discovered.renewal discovered.watch discovered.beside":                                                            asText,
	"discovered.why discovered.why_left discovered.broken_why discovered.behind_why changes.why":                                                       asText,
	"locks_held.began sessions_held.death discovered.began recovery.until":                                                                             asTime,
	"plan.recipe load_locks.recipe locks.recipe plan.release plan.registry fairness.order consistency.form consistency.back":                           asWord,
	"boot_id":                      asMachine,
	"net_ns":                       asNetwork,
	"device":                       asDevice,
	"value_sizes.file config.path": asBase,
})

// fieldsOf makes an entry for each name in the space-separated keys.
func fieldsOf(lists map[string]treatment) map[string]treatment {
	all := map[string]treatment{}
	for list, t := range lists {
		for _, name := range strings.Fields(list) {
			all[name] = t
		}
	}
	return all
}

// scrubJSON treats the texts in a JSON object. It does not preserve the order of names.
func (p *packer) scrubJSON(data []byte) (map[string]any, error) {
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // nanoseconds and seeds have more digits than a float
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	return p.object("", object), nil
}

// object treats the contents of an object; in is the object's own name. A name that is not a known
// field is treated as data in maps, and left out elsewhere.
func (p *packer) object(in string, o map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range sortedKeys(o) { // determines the numbers of pseudonyms
		key := name
		switch {
		case p.known.named[in]:
			key = unused(out, p.names.text(name))
		case !p.known.fields[name]:
			p.leaveOut(in, name)
			p.learnAll(o[name])
			continue
		}
		if v, keep := p.field(in, name, o); keep {
			out[key] = v
		}
	}
	return out
}

// leaveOut counts a field that is left out. The account has only the number, because the name
// itself may be private.
func (p *packer) leaveOut(in, name string) {
	p.unknown[strings.TrimPrefix(in+"."+name, ".")] = true
}

// unused returns name, or name with a number appended if the object already has it, for example
// because two names got the same replacement.
func unused(o map[string]any, name string) string {
	one := name
	for n := 2; ; n++ {
		if _, taken := o[one]; !taken {
			return one
		}
		one = fmt.Sprintf("%s %d", name, n)
	}
}

// field treats one field of an object; keep is false if it is left out.
func (p *packer) field(in, name string, o map[string]any) (v any, keep bool) {
	v = o[name]
	switch name {
	case "config":
		return p.config(v), true
	case "argv":
		return p.programs(v), true
	case "profiles", "digests": // digests are those of the packed files
		return nil, false
	case "options", "option_texts", "words":
		return p.free(name, v), true
	case "files":
		return p.memberFiles(v), true
	}
	if setting, _ := o["name"].(string); in == "changed" && name != "name" && credentialName().MatchString(setting) {
		text, _ := v.(string)
		return p.names.secret(text), true
	}
	return p.value(in, name, v)
}

// value treats a value of any type.
func (p *packer) value(in, name string, v any) (out any, keep bool) {
	switch v := v.(type) {
	case map[string]any:
		return p.object(name, v), true
	case []any:
		list := make([]any, 0, len(v))
		for _, one := range v {
			if treated, keep := p.value(in, name, one); keep {
				list = append(list, treated)
			}
		}
		return list, true
	case string:
		t, known := treatments[in+"."+name]
		if !known {
			t, known = treatments[name]
		}
		if in == "sha256" { // keyed by tool name
			t, known = asHash, true
		}
		if known {
			return t(p.names, v), true
		}
		p.names.text(v)
		if v != "" {
			p.leaveOut(in, name)
		}
		return nil, false
	}
	return v, true
}

// free treats data defined by drivers, and the words of marks: names and texts of any kind.
func (p *packer) free(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, key := range sortedKeys(v) {
			out[unused(out, p.names.text(key))] = p.free(key, v[key])
		}
		return out
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = p.free(name, one)
			if value, is := one.(string); is && i > 0 && !strings.HasPrefix(value, "-") && credentialFlag().MatchString(fmt.Sprint(v[i-1])) {
				list[i] = p.names.secret(value)
			}
		}
		return list
	case string:
		if credentialName().MatchString(name) {
			return p.names.secret(v)
		}
		return p.names.text(v)
	}
	return v
}

// config reduces the resolved experiment, which contains addresses, paths and users, to its file
// name and a hash by which trials of the same experiment can be recognized.
func (p *packer) config(v any) any {
	object, _ := v.(map[string]any)
	data, err := json.Marshal(v)
	if len(object) == 0 || err != nil {
		return map[string]any{}
	}
	p.learnAll(v)
	sum := sha256.Sum256(data)
	out := map[string]any{"sha256": hex.EncodeToString(sum[:])}
	if file, _ := object["path"].(string); file != "" {
		out["path"] = asBase(p.names, file)
	}
	return out
}

// programs reduces commands to their program names, because arguments contain addresses, paths and
// credentials.
func (p *packer) programs(v any) any {
	commands, _ := v.([]any)
	out := make([]any, 0, len(commands))
	for _, c := range commands {
		p.learnAll(c)
		if words, _ := c.([]any); len(words) > 0 {
			out = append(out, []any{p.names.text(filepath.Base(fmt.Sprint(words[0])))})
		}
	}
	return out
}

// memberFiles lists the member's files that are packed.
func (p *packer) memberFiles(v any) any {
	list, _ := v.([]any)
	out := []any{}
	for _, file := range list {
		name, _ := file.(string)
		if name = plainName(filepath.ToSlash(name)); p.rule(name).treat != nil {
			out = append(out, p.packedName(name))
		}
	}
	return out
}

// learnAll collects names and secrets from all texts in a value that is not packed.
func (p *packer) learnAll(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedKeys(v) {
			if text, ok := v[name].(string); ok && credentialName().MatchString(name) && !strings.HasSuffix(name, "_file") && !strings.HasSuffix(name, "_env") {
				p.names.secret(text)
			}
			if text, ok := v[name].(string); ok && name == "user" {
				p.names.of(kindUser, text)
			}
			p.learnAll(v[name])
		}
	case []any:
		var words []string
		for _, one := range v {
			p.learnAll(one)
			if word, is := one.(string); is {
				words = append(words, word)
			}
		}
		p.names.text(strings.Join(words, " ")) // a flag followed by its value
	case string:
		p.names.text(v)
	}
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
