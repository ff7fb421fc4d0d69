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
)

// scrubJSON treats the texts in a JSON object. It does not keep names in order.
func (p *packer) scrubJSON(data []byte) (map[string]any, error) {
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // nanoseconds and seeds have more digits than a float
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	return p.object("", object), nil
}

// object treats the contents of an object; in is its name. A name that is not a known field is
// treated as data in maps, and left out elsewhere.
func (p *packer) object(in string, o map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range sortedKeys(o) { // determines the numbers in pseudonyms
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

// field treats one field in an object; keep is false if it is left out.
func (p *packer) field(in, name string, o map[string]any) (v any, keep bool) {
	v = o[name]
	switch name {
	case "config":
		return p.config(v), true
	case "argv":
		return p.programs(v), true
	case "profiles", "digests": // digests are made again from the packed files
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

// value treats a value with any type.
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

// free treats data defined by drivers, and the words in marks: any names and texts.
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
// name and a hash that identifies trials with the same experiment.
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

// memberFiles lists the files about a member that are packed.
func (p *packer) memberFiles(v any) any {
	list, _ := v.([]any)
	out := []any{}
	for _, file := range list {
		name, _ := file.(string)
		if name = plainName(filepath.ToSlash(name)); ruleOf(name).form != "" {
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
