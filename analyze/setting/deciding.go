// Package setting lists a recorded run's settings, and which of them decide whether two runs can be
// ranked.
package setting

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	humanize "github.com/dustin/go-humanize"

	"github.com/coreos/dbtester/analyze/abilities/all"
	"github.com/coreos/dbtester/analyze/run"
	"github.com/coreos/dbtester/pkg/process/resources"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// Setting has a name for readers and the value as text.
type Setting struct{ Name, Value string }

// Names for deciding settings.
const (
	Operation  = "operation"
	Reads      = "read mode"
	LoadPace   = "clients or rate"
	Payload    = "key and value bytes"
	Data       = "keys before the load"
	Sessions   = "sessions before the load"
	Locks      = "locks"
	Members    = "members"
	Resources  = "resources of a member"
	Client     = "client implementation"
	Encryption = "encryption"
	Durability = "durability"
	Storage    = "storage"
	Target     = "target"
)

// Deciding returns the settings that must be equal for two runs to be ranked. A setting that the
// records do not show is left out. The connection count and the wording about a store's fsync do
// not decide.
func Deciding(r *run.Run) []Setting {
	l := &r.Info.Record.Load
	all := []Setting{
		{Operation, operation(l)},
		{Reads, string(l.Read)},
		{LoadPace, paces(r)},
		{Payload, payload(l)},
		{Data, data(l)},
		{Sessions, sessions(l)},
		{Locks, locks(l)},
		{Members, members(r)},
		{Resources, Limits(r)},
		{Client, client(r)},
		{Encryption, encryption(r)},
		{Durability, string(r.Info.Record.SyncClass())},
		{Storage, storage(r)},
		{Target, l.Target},
	}
	return slices.DeleteFunc(all, func(s Setting) bool { return s.Value == "" })
}

// Difference is a setting with different values in two runs.
type Difference struct{ Name, A, B string }

// Differences returns the settings in both lists whose values differ, in the order of the first
// list.
func Differences(a, b []Setting) (list []Difference) {
	for _, one := range a {
		i := slices.IndexFunc(b, func(s Setting) bool { return s.Name == one.Name })
		if i >= 0 && b[i].Value != one.Value {
			list = append(list, Difference{one.Name, one.Value, b[i].Value})
		}
	}
	return list
}

// Unlike returns the deciding settings in which two runs differ.
func Unlike(a, b *run.Run) []Difference { return Differences(Deciding(a), Deciding(b)) }

// operation describes the requests' operation, with the parameters that change how much work a
// request is.
func operation(l *results.Load) string {
	if len(l.Operations()) == 1 && l.Operations()[0] == "" {
		return ""
	}
	parts := []string{workload.Percents(l.Shares())}
	if len(l.Mix) == 0 {
		parts = []string{string(l.Operation)}
	}
	if l.SameKey {
		parts = append(parts, "same key")
	}
	if l.KeyLaw != "" {
		law := "keys " + string(l.KeyLaw)
		if l.KeyLaw == workload.KeysHotset {
			law += fmt.Sprintf(" (%v of requests to %d keys, moving after %d)", l.HotShare, l.HotKeys, l.HotMoves)
		}
		parts = append(parts, law)
	}
	if text := l.DescribeRange(); text != "" {
		parts = append(parts, text)
	}
	if l.TxnKeys > 1 {
		parts = append(parts, fmt.Sprintf("%d keys in a transaction", l.TxnKeys))
	}
	return strings.Join(parts, ", ")
}

// pace is the rate of a step, or its clients if it has no rate.
func pace(l *results.Load, s workload.Step) string {
	if s.Rate == 0 {
		return fmt.Sprintf("%d client%s", s.Clients, run.Plural(s.Clients))
	}
	text := run.RateText(s.Rate, s.RateEnd) + l.DescribeArrival()
	if l.Backlog == workload.BacklogShed {
		text += ", backlog shed"
	}
	return text
}

// paces joins the paces of all steps, each once. A search has its target in their place.
func paces(r *run.Run) string {
	l, steps := &r.Info.Record.Load, r.Info.Record.Steps
	if s := all.SoughtBy(r); s != nil && len(steps) > 0 {
		return s.Target(r)
	}
	var parts []string
	for _, s := range steps {
		parts = append(parts, pace(l, s.Step))
	}
	if len(parts) == 0 && l.Clients > 0 {
		for _, s := range l.Stretches() {
			parts = append(parts, pace(l, s))
		}
	}
	return strings.Join(run.Distinct(parts), ", ")
}

func payload(l *results.Load) string {
	switch {
	case l.KeySize == 0 && l.ValueSize == 0:
		return ""
	case l.ValueSizeMax == 0:
		return fmt.Sprintf("%d + %d", l.KeySize, l.ValueSize)
	}
	text := fmt.Sprintf("%d + %d..%d", l.KeySize, l.ValueSize, l.ValueSizeMax)
	if law := l.Sizes.String(); law != "" {
		text += " (" + law + ")"
	}
	return text
}

// data describes the content of the store when the load begins: keys, and the bytes that were
// written with them.
func data(l *results.Load) string {
	n := l.Existing()
	if payload(l) == "" {
		return "" // a classic input
	}
	if n == 0 {
		return "none"
	}
	text := fmt.Sprintf("%s of %s bytes", humanize.Comma(n), payload(l))
	if l.ValueSizeMax == 0 {
		text += ", " + humanize.Bytes(uint64(n)*uint64(l.KeySize+l.ValueSize))
	}
	if l.Any(workload.Op.NeedsKey) && 0 < l.Keys && l.Keys < n {
		text += fmt.Sprintf(", of which requests take %s", humanize.Comma(l.Keys))
	}
	return text
}

// sessions describes the sessions that requests use.
func sessions(l *results.Load) string {
	if !l.Any(workload.Op.OfSessions) {
		return ""
	}
	return fmt.Sprintf("%s, TTL %v", humanize.Comma(l.Sessions), l.SessionTTL)
}

// locks describes the locks that requests take. Recipes do not decide: each database has its
// own.
func locks(l *results.Load) string {
	if !l.Any(workload.Op.Locks) {
		return ""
	}
	return fmt.Sprintf("%s names by the law %s, held for %v", humanize.Comma(max(l.Keys, 1)), cmp.Or(string(l.KeyLaw), "same key"), l.Locks.Hold)
}

func members(r *run.Run) string {
	if n := len(r.Info.Record.Members); n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}

// Limits describes the resource limits for each member, "" for a cluster without agents.
func Limits(r *run.Run) string {
	switch l := r.Info.Record.Resources; {
	case r.Info.Manifest == nil || r.Info.Unattended():
		return ""
	case l == nil || *l == (resources.Limits{}):
		return "no limits"
	default:
		return l.String()
	}
}

// client names the kind of code that sends the requests. The libraries for all databases count as
// the same kind.
func client(r *run.Run) string {
	const lean = "lean"
	switch r.Info.Transport() {
	case "":
		return ""
	case lean:
		return lean
	}
	return "a library"
}

// encryption states whether clients use TLS, "" if the records do not show it.
func encryption(r *run.Run) string {
	switch _, d := resolved(r); {
	case d == nil:
		return ""
	case len(d["tls"]) == 0 || string(d["tls"]) == "null":
		return "none"
	}
	return "TLS"
}

// storage describes where members keep their data, as far as durability depends on it.
func storage(r *run.Run) string {
	var kinds []string
	for _, m := range r.Info.Record.Members {
		switch {
		case m.Disk == nil || m.Disk.Filesystem == "":
		case m.Disk.LosesPower():
			kinds = append(kinds, "a file system that loses data in a power cut: "+m.Disk.Filesystem)
		default:
			kinds = append(kinds, "a disk")
		}
	}
	slices.Sort(kinds)
	return strings.Join(run.Distinct(kinds), " and ")
}
