package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// sweepSection declares the keys that a sweep may vary.
func sweepSection() section[sweepSpec] {
	list := func(meaning, name, unit string) row {
		return row{Name: name, Unit: "list of " + unit, Meaning: meaning}
	}
	return section[sweepSpec]{
		Fields: []field[sweepSpec]{
			key[sweepSpec, []yamlfile.Given[float64]]{
				Row:  list("a step of one load for each rate; each step has the load's `duration` or `requests`", "rate", "requests/s"),
				Kind: placedList(yamlfile.PerSecondKind()), At: func(s *sweepSpec) *[]yamlfile.Given[float64] { return &s.rate }, Node: leftOut[sweepSpec],
			}.Field(),
			key[sweepSpec, []yamlfile.Given[int]]{
				Row:  list("the same for each number of clients", "clients", "numbers"),
				Kind: placedList(yamlfile.SmallKind()), At: func(s *sweepSpec) *[]yamlfile.Given[int] { return &s.clients }, Node: leftOut[sweepSpec],
			}.Field(),
			key[sweepSpec, []yamlfile.Given[amount]]{
				Row:  list("a run on a fresh cluster for each amount of data before the load: bytes such as `1GiB`, or numbers of keys", "preload", "bytes or keys"),
				Kind: placedList(amountKind()), At: func(s *sweepSpec) *[]yamlfile.Given[amount] { return &s.preload }, Node: leftOut[sweepSpec],
			}.Field(),
			key[sweepSpec, []yamlfile.Given[int]]{
				Row:  list("a run on a fresh cluster for each number of members, on the first of the hosts", "members", "members"),
				Kind: placedList(yamlfile.SmallKind()), At: func(s *sweepSpec) *[]yamlfile.Given[int] { return &s.members }, Node: leftOut[sweepSpec],
			}.Field(),
			key[sweepSpec, bool]{
				Row:  row{Name: "down", Usually: "`true` with `rate`", Meaning: "steps are repeated from the last but one back to the first, to show whether the database recovers"},
				Kind: yamlfile.TruthKind(), At: func(s *sweepSpec) *bool { return &s.down }, Node: leftOut[sweepSpec],
			}.Field(),
		},
		Check: checkSweep,
	}
}

// placedList is a list whose values have their places.
func placedList[T any](item kind[T]) kind[[]yamlfile.Given[T]] {
	return kind[[]yamlfile.Given[T]]{
		Unit: "list",
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) ([]yamlfile.Given[T], bool) {
			items, ok := r.Items(key, node)
			if !ok {
				return nil, false
			}
			list := []yamlfile.Given[T]{}
			for _, one := range items {
				if is, ok := item.Parse(r, key, one); ok {
					list = append(list, yamlfile.Given[T]{Is: is, Key: key, At: one})
				}
			}
			return list, true
		},
		Nested: func() schema { return schema{"type": "array", "items": item.Schema} },
	}
}

// amountKind is a number of keys, or a size with a unit.
func amountKind() kind[amount] {
	return kind[amount]{
		Parse: func(r *yamlfile.Reader, key string, node *yamlfile.Node) (amount, bool) {
			if yamlfile.IsText(node) {
				n, ok := yamlfile.LargeSize(r, key, node)
				text := strings.ReplaceAll(node.Value, " ", "")
				return amount{preloadSpec{bytes: n}, strings.TrimSuffix(text, "B") + "B"}, ok // a bare number would mean keys
			}
			n, ok := yamlfile.Whole(r, key, node)
			return amount{preloadSpec{keys: n}, strconv.FormatInt(n, 10)}, ok
		},
		Schema: yamlfile.LargeSizeKind().Schema,
	}
}

// size is the number by which amounts in a sweep are compared.
func (a amount) size() int64 { return max(a.keys, a.bytes) }

// checkSweep reports a sweep unless it has exactly one list, whose values rise.
func checkSweep(r *yamlfile.Reader, w *written[sweepSpec]) {
	s, places := &w.Is, []yamlfile.Place{}
	for _, k := range workload.SweepKeys() {
		places = append(places, w.Place(string(k)))
	}
	given := yamlfile.PlacesInOrder(places...)
	if len(given) != 1 {
		at := w.Node
		if len(given) > 1 {
			at = given[1].At
		}
		r.Errorf(at, "sweep: give one of rate, clients, preload and members, got %d", len(given))
		*s = sweepSpec{}
		return
	}
	rising(r, given[0], s.rate, func(v float64) float64 { return v }, 1)
	rising(r, given[0], s.clients, func(v int) float64 { return float64(v) }, 1)
	rising(r, given[0], s.preload, func(v amount) float64 { return float64(v.size()) }, 0)
	rising(r, given[0], s.members, func(v int) float64 { return float64(v) }, 1)
	for i, a := range s.preload {
		if first := slices.IndexFunc(s.preload[:i], func(b yamlfile.Given[amount]) bool {
			return a.Is.bytes > 0 && b.Is.keys > 0 || a.Is.keys > 0 && b.Is.bytes > 0
		}); first >= 0 {
			r.Errorf(a.At, "sweep: preload: give all in bytes, such as 1GiB, or all in keys, got %s and %s", s.preload[first].Is.text, a.Is.text)
		}
	}
	if down := w.Place("down"); down.Set() && !s.key().Stepped() {
		r.Errorf(down.At, "down: each point of a sweep over %s has a fresh cluster; only rate and clients go down again", given[0].Key)
	}
	if !w.Has("down") {
		s.down = s.key() == workload.SweepRate
	}
}

// rising reports a given list unless it has two or more values that rise from least.
func rising[T any](r *yamlfile.Reader, p yamlfile.Place, list []yamlfile.Given[T], of func(T) float64, least float64) {
	if list == nil {
		return
	}
	if len(list) < 2 && len(p.At.Content) < 2 {
		r.Errorf(p.At, "sweep: %s needs two or more values, got %d", p.Key, len(list))
	}
	for i, v := range list {
		switch is := of(v.Is); {
		case is < least:
			r.Errorf(v.At, "sweep: %s must be at least %v, got %s", p.Key, least, v.At.Value)
		case i > 0 && is <= of(list[i-1].Is):
			r.Errorf(v.At, "sweep: values of %s must rise, got %s after %s", p.Key, v.At.Value, list[i-1].At.Value)
		}
	}
}

// sweptSection declares a database's part in a sweep.
func sweptSection() section[workload.Swept] {
	point := func(s *workload.Swept) bool { return s.Text != "" }
	return section[workload.Swept]{
		Fields: []field[workload.Swept]{
			key[workload.Swept, workload.SweepKey]{
				Row:  row{Name: "key", Usually: "required", Meaning: "what the sweep varies: `rate`, `clients`, `preload` or `members`"},
				Kind: yamlfile.WordKind(workload.SweepKeys()...), At: func(s *workload.Swept) *workload.SweepKey { return &s.Key },
			}.Field(),
			key[workload.Swept, string]{
				Row:  row{Name: "of", Usually: "required", Meaning: "name of the database without the point: runs with the same `of` are points of one curve"},
				Kind: yamlfile.FilledKind(), At: func(s *workload.Swept) *string { return &s.Of },
			}.Field(),
			key[workload.Swept, int64]{
				Row:  row{Name: "value", Unit: "members, bytes or keys", Meaning: "the point of this run; missing if the points are steps"},
				Kind: yamlfile.WholeKind(), At: func(s *workload.Swept) *int64 { return &s.Value }, Shown: point,
			}.Field(),
			key[workload.Swept, string]{
				Row:  row{Name: "text", Meaning: "readable name of the point, such as `1GiB`"},
				Kind: yamlfile.TextKind(), At: func(s *workload.Swept) *string { return &s.Text }, Shown: point,
			}.Field(),
		},
		Check: func(r *yamlfile.Reader, w *written[workload.Swept]) {
			for _, name := range []string{"key", "of"} {
				if !w.Has(name) && !yamlfile.HasKey(w.Node, name) {
					r.Errorf(w.Node, "swept: %s is missing", name)
				}
			}
		},
	}
}

// swept resolves the load for a sweep over rates or clients: a step for each value up, and back
// down. Requests and duration apply to each step.
func (r *loadResolver) swept(l *workload.Load) {
	s, name := &r.file.sweep.Is, string(r.file.sweep.Is.key())
	at := r.file.sweep.NodeOf(name)
	for _, given := range []string{"steps", name, "rate_end"} {
		if p := r.spec.Place(given); p.Set() && (given != "rate_end" || name == "rate") {
			r.Errorf(p.At, "%s: sweep (line %d) makes the steps of the load; give one of the two", p.Key, at.Line)
			return
		}
	}
	if l.Requests == 0 && l.Duration == 0 {
		r.Errorf(cmp.Or(r.at("requests", "duration"), at), "requests or duration must be positive, both are 0")
	}
	each := l.Stretches()[0]
	for i, p := range s.values() {
		step := each
		if s.key() == workload.SweepRate {
			step.Rate = p.Is
		} else {
			step.Clients = int(p.Is)
		}
		step.Down = i >= max(len(s.rate), len(s.clients))
		if !r.spec.Has("clients") && step.Requests > 0 && s.key() == workload.SweepRate {
			step.Clients = int(min(int64(step.Clients), step.Requests))
		}
		r.sweptClients(step, p.At)
		step.Connections = r.connections(r.spec.Place("connections"), min(cmp.Or(l.Connections, step.Clients), step.Clients), step.Clients)
		r.changes(step, r.spec.NodeOf("rate_end"), r.spec.NodeOf("ramp"))
		l.Steps = append(l.Steps, step)
	}
	l.Requests, l.Duration, l.Clients, l.Connections, l.RateEnd, l.Ramp = 0, 0, 0, 0, 0, 0
	if s.key() == workload.SweepRate {
		l.Rate = 0
	}
	for _, step := range l.Steps {
		l.Requests += step.Requests
		l.Duration += step.Duration
		l.Clients, l.Connections = max(l.Clients, step.Clients), max(l.Connections, step.Connections)
	}
}

// values returns the step values in order.
func (s *sweepSpec) values() (all []yamlfile.Given[float64]) {
	all = slices.Clone(s.rate)
	for _, c := range s.clients {
		all = append(all, yamlfile.Given[float64]{Is: float64(c.Is), Key: c.Key, At: c.At})
	}
	if s.down && len(all) > 1 {
		back := slices.Clone(all[:len(all)-1])
		slices.Reverse(back)
		all = append(all, back...)
	}
	return all
}

// sweptClients checks the clients in a step, which come from the sweep or the load.
func (r *loadResolver) sweptClients(step workload.Step, at *yamlfile.Node) {
	if r.spec.Has("clients") {
		at = r.spec.NodeOf("clients")
	}
	switch {
	case step.Clients < 1:
		r.Errorf(at, "clients must be positive, got %d", step.Clients)
	case step.Clients > maxClients:
		r.Errorf(at, "clients must be at most %d, got %d", maxClients, step.Clients)
	case step.Requests > 0 && int64(step.Clients) > step.Requests:
		r.Errorf(at, "clients: %d are more than the %d requests of a step, which they share", step.Clients, step.Requests)
	}
}
