package setting

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/dbtester/analyze/run"
)

// keyValues are the values in a run by key path: "load.failover", "steps.stop". Values that are 0,
// false or empty may be absent.
type keyValues struct {
	values map[string]value
	// load and experiment mean that the records have the load parameters, and the resolved
	// experiment.
	load, experiment bool
}

// shows reports whether the records would have the value for a key if it was given.
func (d *keyValues) shows(path string) bool {
	if strings.HasPrefix(path, "load.") {
		return d.load
	}
	return d.experiment
}

// value is the text for a leaf or a list in a JSON text, with its unit.
type value struct {
	text string
	// zero is the text for runs that lack the value while others have it.
	zero string
}

// declaredBy returns a run's settings from the resolved experiment in the manifest and from the
// recorded load.
func declaredBy(r *run.Run) *keyValues {
	d := &keyValues{values: map[string]value{}}
	top, database := resolved(r)
	for _, tree := range []map[string]json.RawMessage{top, database} { // which has its own steps
		for name, data := range tree {
			if name != "databases" && name != "load" && name != "options" {
				d.add(name, data)
			}
		}
	}
	d.experiment = database != nil
	if data, err := json.Marshal(r.Info.Record.Load); err == nil && r.Info.Manifest != nil {
		d.add("load", data)
		d.load = true
	}
	return d
}

// resolved returns the experiment in a manifest and the part for the database, nil if the records
// lack it.
func resolved(r *run.Run) (top, database map[string]json.RawMessage) {
	if r.Info.Manifest == nil || json.Unmarshal(r.Info.Manifest.Config, &top) != nil {
		return nil, nil
	}
	var databases []map[string]json.RawMessage
	if json.Unmarshal(top["databases"], &databases) != nil {
		return nil, nil
	}
	for _, d := range databases {
		var id string
		if json.Unmarshal(d["id"], &id) == nil && id == r.Info.Record.ID {
			return top, d
		}
	}
	return nil, nil
}

// add adds the values in a JSON text below a path. A list is one value.
func (d *keyValues) add(path string, data json.RawMessage) {
	var content any
	if json.Unmarshal(data, &content) != nil {
		return
	}
	switch v := content.(type) {
	case nil:
	case map[string]any:
		var tree map[string]json.RawMessage
		if json.Unmarshal(data, &tree) != nil {
			return
		}
		for name, data := range tree {
			d.add(path+"."+name, data)
		}
	case []any:
		if len(v) > 0 {
			d.values[path] = value{string(data), "none"}
		}
	default:
		name, one := worded(path, v)
		d.values[name] = one
	}
}

// worded returns a path without the unit, and the value with its unit.
func worded(path string, v any) (string, value) {
	switch v := v.(type) {
	case float64:
		for _, u := range units() {
			if name, ok := strings.CutSuffix(path, u.suffix); ok {
				return name, value{u.text(v), u.zero}
			}
		}
	case bool:
		return path, value{strconv.FormatBool(v), "false"}
	case string:
		if filepath.IsAbs(v) {
			v = filepath.Base(v) // a report must not name folders on the machine
		}
		return path, value{v, "not set"}
	}
	return path, value{fmt.Sprint(v), "not set"}
}

// unit formats numbers whose JSON names end with a suffix. zero is the text for an absent number.
type unit struct {
	suffix, zero string
	text         func(float64) string
}

func units() []unit {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	return []unit{
		{"_ns", "0s", func(v float64) string { return time.Duration(v).String() }},
		{"_bytes", "0 bytes", func(v float64) string { return number(v) + " bytes" }},
		{"_percent", "not set", func(v float64) string { return number(v) + " %" }}, // 0 % is a bound
		{"", "0", number},
	}
}
