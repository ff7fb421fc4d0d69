package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/dbtester/pkg/database"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// meaning resolves the operations: one operation, a mix, or a named mix.
func (r *loadResolver) meaning(l *workload.Load) {
	switch {
	case r.spec.Has("workload"):
		named := r.spec.Is.workload()
		l.Operation, l.Mix = "", named.Mix
		if named.RangeLimit > 0 && !r.spec.Has("range_limit") {
			l.RangeLimit = named.RangeLimit
		}
	case r.spec.Has("mix"):
		l.Operation, l.Mix = "", sharesOf(r.spec.Is.mix)
	}
	for i, op := range l.Operations() {
		if !slices.Contains(r.db.entry.Info.Operations, op) {
			r.lacks(i, op)
		}
	}
	r.ranges(l)
}

// ranges resolves what ranges read, and their size.
func (r *loadResolver) ranges(l *workload.Load) {
	limit, mode := r.spec.Place("range_limit"), r.spec.Place("range_mode")
	if !l.Any(workload.Op.Ranges) {
		for _, p := range yamlfile.PlacesInOrder(limit, mode) {
			r.idle(p, "no operation of the load reads ranges")
		}
		l.RangeLimit, l.RangeMode = 0, ""
		return
	}
	info := r.db.entry.Info
	known := append([]workload.RangeMode{workload.RangeValues}, info.Lists...)
	if slices.Contains(info.Operations, workload.OpRange) && !slices.Contains(known, l.RangeMode) {
		r.Errorf(mode.At, "%s: %s has no ranges of the mode %q (it has %s)", mode.Key, r.db.entry.Name, l.RangeMode, strings.Join(yamlfile.Words(known), ", "))
	}
	switch {
	case !l.RangeMode.Limited():
		if limit.Set() {
			r.idle(limit, fmt.Sprintf("a range of the mode %s has no limit", l.RangeMode))
		}
		l.RangeLimit = 0
	case l.RangeLimit < 1:
		r.Errorf(limit.At, "range_limit must be positive, got %d", l.RangeLimit)
	}
}

// workload returns the named mix in the file. Its name was checked when it was
// read.
func (s loadSpec) workload() workload.Named {
	all := workload.Workloads()
	return all[slices.IndexFunc(all, func(w workload.Named) bool { return w.Name == s.Workload })]
}

// lacks reports that the database does not support the i-th operation in the load.
func (r *loadResolver) lacks(i int, op workload.Op) {
	info := r.db.entry.Info
	name, does := r.db.entry.Name, "(it supports "+strings.Join(yamlfile.Words(info.Operations), ", ")+")"
	if why := info.WhyNot(op); why != "" {
		does = "because " + why + " " + does
	}
	switch spec := r.spec; {
	case spec.Has("workload"):
		r.Errorf(spec.NodeOf("workload"), "workload: %s has %q, which %s does not support %s", spec.Is.Workload, op, name, does)
	case spec.Has("mix"):
		r.Errorf(spec.Is.mix[i].at, "mix: %s does not support %q %s", name, op, does)
	default:
		r.Errorf(r.at("operation"), "%s: %s does not support %q %s", spec.Called("operation"), name, op, does)
	}
}

// keys resolves which keys exist before the load, and which of them operations
// use.
func (r *loadResolver) keys(l *workload.Load) {
	places := yamlfile.PlacesInOrder(r.spec.Place("keys"), r.spec.Place("key_law"))
	switch {
	case !l.Any(workload.Op.ChoosesKey):
		for _, p := range places {
			r.idle(p, "the load takes no keys that exist")
		}
		l.Keys, l.KeyLaw = 0, ""
	case l.SameKey:
		for _, p := range places {
			r.Errorf(p.At, "%s: same_key (line %d) sends every request to one key; give one of the two", p.Key, r.spec.NodeOf("same_key").Line)
		}
		l.Keys, l.KeyLaw = 0, ""
	default:
		if r.spec.Has("workload") && !r.spec.Has("key_law") {
			l.KeyLaw = r.spec.Is.workload().KeyLaw
		}
		if l.Preload > 0 && !r.spec.Has("keys") {
			l.Keys = l.Preload
		}
		if l.Preload > 0 && l.Keys > l.Preload {
			r.Errorf(r.spec.NodeOf("keys"), "keys: %d are more than the %d of preload (line %d); operations take keys from among those", l.Keys, l.Preload, r.spec.NodeOf("preload").Line)
		}
		r.hotset(l)
		if l.Keys < 1 {
			r.Errorf(r.spec.NodeOf("keys"), "keys must be positive for operations on keys that exist, got %d", l.Keys)
		}
	}
}

// hotset resolves hot keys.
func (r *loadResolver) hotset(l *workload.Load) {
	if !r.spec.Has("hot_keys") {
		l.HotKeys = max(l.Keys/100, 1)
	}
	switch p := r.spec.Place("hot_keys"); {
	case l.KeyLaw != workload.KeysHotset:
	case l.HotKeys < 1:
		r.Errorf(p.At, "%s must be positive, got %d", p.Key, l.HotKeys)
	case l.HotKeys > l.Keys:
		r.Errorf(p.At, "%s: %d are more than the %d keys", p.Key, l.HotKeys, l.Keys)
	}
}

// noHotset clears values that matter only for the key law hotset.
func (r *loadResolver) noHotset(l *workload.Load) {
	if l.KeyLaw == workload.KeysHotset {
		return
	}
	for _, key := range []string{"hot_keys", "hot_share", "hot_moves"} {
		if p := r.spec.Place(key); p.Set() {
			r.idle(p, "the key law of the load is not hotset")
		}
	}
	l.HotKeys, l.HotShare, l.HotMoves = 0, 0, 0
}

// transactions resolves the number of keys that a txn writes.
func (r *loadResolver) transactions(l *workload.Load) {
	p := r.spec.Place("txn_keys")
	if !slices.Contains(l.Operations(), workload.OpTxn) {
		if p.Set() {
			r.idle(p, "no operation of the load is a txn")
		}
		l.TxnKeys = 0
		return
	}
	switch n := l.TxnKeys; {
	case n < 1:
		r.Errorf(p.At, "%s must be positive, got %d", p.Key, n)
	case n == 1:
	case r.db.txnLimit() == nil:
		r.Errorf(p.At, "%s: %s has no transactions of several keys, got %d", p.Key, r.db.entry.Name, n)
	case l.SameKey:
		r.Errorf(p.At, "%s: same_key (line %d) leaves a transaction one key, got %d", p.Key, r.spec.NodeOf("same_key").Line, n)
	case l.KeyLaw == workload.KeysLatest:
		r.Errorf(p.At, "%s: key_law latest takes keys whose neighbors may not exist, so a transaction has one key, got %d", p.Key, n)
	case int64(n) > l.Keys:
		r.Errorf(p.At, "%s: %d are more than the %d keys that exist", p.Key, n, l.Keys)
	}
}

// txnLimit returns the value limit in transactions on several keys, nil if the database has no such
// transactions.
func (d *databaseSpec) txnLimit() func(keySize, keys int) int {
	if options, ok := d.Options.(database.TxnLimiter); ok {
		return options.MaxTxnValue
	}
	return nil
}

// sizes resolves key and value sizes, and checks them against the database and the number of keys.
func (r *loadResolver) sizes(l *workload.Load) {
	key, numbers := r.spec.Called("key_size"), l.KeyNumbers(l.Requests)
	switch {
	case l.KeySize < 1:
		r.Errorf(r.at("key_size"), "%s must be positive, got %d", key, l.KeySize)
	case l.KeySize < digits(numbers):
		r.Errorf(r.at("key_size"), "%s: %d bytes cannot hold %d different keys (at least %d)",
			key, l.KeySize, numbers, digits(numbers))
	}
	largest, limited := r.db.maxValue(r.prefix + l.KeySize)
	if limit := r.db.txnLimit(); limit != nil && l.Any(workload.Op.Guarded) {
		keys := max(l.TxnKeys, 1)
		if fits := limit(r.prefix+l.KeySize, keys); !limited || fits < largest {
			largest, limited = fits, true
		}
		if largest == 0 && keys > 1 {
			r.Errorf(r.at("txn_keys"), "txn_keys: %d are more keys than %s takes in one transaction", keys, r.db.entry.Name)
			return
		}
	}
	over := func(key string, size int) {
		if limited && size > largest {
			if l.Sizes.Law != "" {
				key = "value_sizes"
			}
			r.Errorf(r.at(key), "%s: %d is more than %s takes (%d)", r.spec.Called(key), size, r.db.entry.Name, largest)
		}
	}
	if l.ValueSizeMax == 0 || l.ValueSizeMax == l.ValueSize {
		l.ValueSizeMax = 0
		over("value_size", l.ValueSize)
		return
	}
	if l.Sizes.Law == "" {
		r.valueRange(*l)
	}
	over("value_size_max", l.ValueSizeMax)
}

// maxValue returns the largest value in bytes that the database accepts under a key of keySize
// bytes, if limited. Options that change the limit take precedence.
func (d *databaseSpec) maxValue(keySize int) (largest int, limited bool) {
	if options, ok := d.Options.(database.Limiter); ok {
		return options.MaxValue(keySize), true
	}
	return d.entry.Info.MaxValue, d.entry.Info.MaxValue > 0
}

// minRange is the smallest value, in bytes, in a size range. Shorter values contain no number from
// which a reader could compute their length.
const minRange = 16

// valueRange checks a value size range.
func (r *loadResolver) valueRange(l workload.Load) {
	low, high := r.spec.Place("value_size"), r.spec.Place("value_size_max")
	switch {
	case l.ValueSizeMax < l.ValueSize:
		r.Errorf(high.At, "%s: %d is less than value_size (%d)", high.Key, l.ValueSizeMax, l.ValueSize)
	case l.ValueSize < minRange:
		r.Errorf(cmp.Or(low.At, high.At), "value_size: sizes of a range must be at least %d bytes, got %d", minRange, l.ValueSize)
	}
}
