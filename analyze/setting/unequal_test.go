package setting

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/ability/upkeep"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/results/effect"
	"github.com/coreos/dbtester/pkg/workload"
)

// of returns records of a run for a resolved experiment in which every setting acted.
func of(t *testing.T, e *config.Experiment) *run.Run {
	t.Helper()
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatalf("encode the experiment: %v", err)
	}
	d := &e.Databases[0]
	record := &results.DatabaseRun{
		ID: d.ID, Database: d.Name, Tag: d.Tag, Load: results.Load{Load: d.Load}, Setup: results.Setup{OptionTexts: map[string]string{"flag": fmt.Sprint(d.Options)}},
		Totals: &results.Totals{Queued: 1, Failed: 1},
	}
	for i, s := range d.Load.Stretches() {
		record.Steps = append(record.Steps, results.Step{Index: i, Step: s, ConnectionsLost: 1})
	}
	var done []effect.Effect
	for _, kind := range upkeep.Events() {
		done = append(done, effect.Effect{Kind: kind, Times: 1})
	}
	if err := upkeep.Record().Set(&record.Records, done); err != nil {
		t.Fatal(err)
	}
	record.Load.Steps = nil
	record.Members = []results.Member{{Agent: "a:3500"}}
	return &run.Run{Info: run.Info{Record: record, Manifest: &results.Manifest{Config: data}}}
}

// fill sets every field to a value that is not zero. Lists have two elements.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), n)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.SetMapIndex(key, value)
	case reflect.Interface:
		v.Set(reflect.ValueOf("option"))
	default:
		change(v, *n)
	}
}

// change gives a field another value.
func change(v reflect.Value, n int) {
	switch {
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprintf("%sx%d", v.String(), n))
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + int64(n))
	case v.CanUint():
		v.SetUint(v.Uint() + uint64(n))
	case v.CanFloat():
		v.SetFloat(v.Float() + float64(n))
	default:
		panic("a setting of the kind " + v.Kind().String() + " needs a case in this test")
	}
}

// leaf is one value below a database in an experiment.
type leaf struct {
	path string
	at   func(*config.Experiment) reflect.Value
}

// leaves are all values in a type, by their names in JSON.
func leaves(path string, sample reflect.Value, at func(*config.Experiment) reflect.Value) (list []leaf) {
	switch sample.Kind() {
	case reflect.Pointer:
		return leaves(path, sample.Elem(), func(e *config.Experiment) reflect.Value { return at(e).Elem() })
	case reflect.Struct:
		for i := range sample.NumField() {
			tag := sample.Type().Field(i).Tag.Get("json")
			name, _, _ := strings.Cut(tag, ",")
			if tag == "-" || !sample.Type().Field(i).IsExported() {
				continue
			}
			below := strings.TrimPrefix(path+"."+name, ".")
			if name == "" { // a field group, which JSON does not name
				below = path
			}
			list = append(list, leaves(below, sample.Field(i), func(e *config.Experiment) reflect.Value { return at(e).Field(i) })...)
		}
		return list
	case reflect.Slice:
		return leaves(path, sample.Index(0), func(e *config.Experiment) reflect.Value { return at(e).Index(0) })
	case reflect.Map, reflect.Interface:
		return nil // options: the last part of the test
	}
	return []leaf{{path, at}}
}

// filled returns experiments with one database and with every value given, except that several
// operations, one operation, one key and steps are not all in the same load.
func filled() (list []*config.Experiment) {
	for _, without := range []func(*workload.Load){
		func(l *workload.Load) { l.Steps, l.SameKey = nil, false },
		func(l *workload.Load) { l.Mix, l.Operation = nil, workload.OpUpdate },
	} {
		e := &config.Experiment{Databases: make([]config.Database, 1)}
		n := 0
		fill(reflect.ValueOf(&e.Databases[0]).Elem(), &n)
		l := &e.Databases[0].Load
		l.Mix[0].Operation, l.Mix[1].Operation = workload.OpUpdate, workload.OpRead
		l.Preload, l.Arrival = 2*l.Keys, workload.ArrivalBursts
		without(l)
		list = append(list, e)
	}
	return list
}

// Every value in a database and its load is reported if only it differs, or has a reason why not.
// The test covers newly declared values automatically.
func TestEverySetting(t *testing.T) {
	var a []*run.Run
	for i, e := range filled() {
		a = append(a, named(of(t, e), "a"))
		if got := Unequal([]*run.Run{a[i], named(of(t, filled()[i]), "b")}, nil); len(got) > 0 {
			t.Fatalf("equal runs differ in %q", got)
		}
	}
	reported := func(one leaf) bool {
		return slices.ContainsFunc([]int{0, 1}, func(i int) bool {
			e := filled()[i]
			l := e.Databases[0].Load
			if len(l.Mix) == 0 && strings.HasPrefix(one.path, "load.mix.") || len(l.Steps) == 0 && strings.HasPrefix(one.path, "load.steps.") {
				return false
			}
			change(one.at(e), 1)
			return len(Unequal([]*run.Run{a[i], named(of(t, e), "b")}, nil)) > 0
		})
	}
	sample := filled()
	sample[0].Databases[0].Load.Steps = sample[1].Databases[0].Load.Steps
	all := leaves("", reflect.ValueOf(sample[0].Databases[0]), func(e *config.Experiment) reflect.Value { return reflect.ValueOf(&e.Databases[0]).Elem() })
	unlisted := slices.Collect(maps.Keys(Unlisted()))
	seen := 0
	for _, one := range all {
		path, _ := worded(one.path, 0.0)
		switch listed := !below(path, unlisted); {
		case listed && !reported(one):
			t.Errorf("%s: two runs that differ in it alone are reported as equal", one.path)
		case listed:
			seen++
		}
	}
	if seen < 60 {
		t.Errorf("%d settings were changed, want all of a database and its load, which are more than 60", seen)
	}
	e := filled()[0]
	e.Databases[0].Options = "another"
	if got := Unequal([]*run.Run{a[0], named(of(t, e), "b")}, nil); len(got) != 1 || got[0] != "option flag: a: option; b: another" {
		t.Errorf("an option that differs is reported as %q", got)
	}
}

func named(r *run.Run, tag string) *run.Run {
	r.Info.Tag = tag
	return r
}

// Every reason why a key is not listed belongs to an existing key.
func TestUnlistedExist(t *testing.T) {
	e := config.Experiment{Databases: make([]config.Database, 1)}
	var paths []string
	for _, of := range []reflect.Type{reflect.TypeOf(e), reflect.TypeOf(e.Databases[0])} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			path, _ := worded(name, 0.0)
			paths = append(paths, path)
		}
	}
	for path, why := range Unlisted() {
		top, _, _ := strings.Cut(path, ".")
		if !slices.Contains(paths, top) || why == "" {
			t.Errorf("%s is left out because %q, but is no key of an experiment or its databases", path, why)
		}
	}
}

// The upkeep of two runs differs, whatever else is equal.
func TestMaintain(t *testing.T) {
	two := func(a, b upkeep.Plan, done int) []string {
		runs := make([]*run.Run, 2)
		for i, m := range []upkeep.Plan{a, b} {
			e := &config.Experiment{Databases: []config.Database{{ID: "etcd", Name: "etcd", Abilities: upkeep.Keys().With(nil, m)}}}
			runs[i] = named(of(t, e), string(rune('a'+i)))
			var effects []effect.Effect
			if m.Compact > 0 && done > 0 {
				effects = []effect.Effect{{Kind: upkeep.EventCompact, Times: done}}
			}
			if err := upkeep.Record().Set(&runs[i].Info.Record.Records, effects); err != nil {
				t.Fatal(err)
			}
		}
		return Unequal(runs, nil)
	}
	if got := two(upkeep.Plan{}, upkeep.Plan{Compact: 2 * time.Second}, 5); !slices.Equal(got, []string{"maintain.compact: a: 0s; b: 2s"}) {
		t.Errorf("compactions every 2 s against none are reported as %q", got)
	}
	for _, k := range upkeep.Kinds() {
		a, b := filled()[0], filled()[0]
		var plan upkeep.Plan
		*k.At(&plan) = time.Minute
		b.Databases[0].Abilities = upkeep.Keys().With(nil, plan)
		want := []string{"maintain." + k.Key + ": a: 0s; b: 1m0s"}
		if got := Unequal([]*run.Run{named(of(t, a), "a"), named(of(t, b), "b")}, nil); !slices.Equal(got, want) {
			t.Errorf("%s every minute against none is reported as %q, want %q", k.Key, got, want)
		}
	}
	if got := two(upkeep.Plan{Compact: time.Minute}, upkeep.Plan{Compact: time.Hour}, 0); len(got) > 0 {
		t.Errorf("compactions that were never due are reported: %q", got)
	}
}

// A setting that cannot have acted does not make runs unequal.
func TestIdle(t *testing.T) {
	for path, one := range map[string]struct {
		set   func(*workload.Load)
		acted func(*results.DatabaseRun)
	}{
		"load.failover": {func(l *workload.Load) { l.Failover = workload.FailoverNone }, func(r *results.DatabaseRun) { r.Steps[0].ConnectionsLost = 1 }},
		"load.drain":    {func(l *workload.Load) { l.Drain = time.Second }, func(r *results.DatabaseRun) { r.Totals.Unsent = 1 }},
		"load.backlog":  {func(l *workload.Load) { l.Backlog = workload.BacklogShed }, func(r *results.DatabaseRun) { r.Totals.Shed = 1 }},
		"load.timeout":  {func(l *workload.Load) { l.Timeout = time.Second }, func(r *results.DatabaseRun) { r.Totals.Unknown = 1 }},
	} {
		two := func(acted bool) []string {
			var runs []*run.Run
			for i := range 2 {
				e := &config.Experiment{Databases: []config.Database{{ID: "etcd", Name: "etcd", Load: workload.Load{Pace: workload.Pace{Rate: 100}, Extent: workload.Extent{Duration: time.Second}}}}}
				if i == 1 {
					one.set(&e.Databases[0].Load)
				}
				r := named(of(t, e), string(rune('a'+i)))
				r.Info.Record.Totals, r.Info.Record.Steps[0].ConnectionsLost = &results.Totals{}, 0
				if i == 0 && acted {
					one.acted(r.Info.Record)
				}
				runs = append(runs, r)
			}
			return Unequal(runs, nil)
		}
		if got := two(false); len(got) > 0 {
			t.Errorf("%s did nothing in these runs, and is reported: %q", path, got)
		}
		if got := two(true); len(got) != 1 || !strings.HasPrefix(got[0], path+": ") {
			t.Errorf("%s acted in one of these runs, and the differences are %q", path, got)
		}
	}
}
