package config

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/coreos/dbtester/pkg/ability"
	"github.com/coreos/dbtester/pkg/workload"
	"github.com/coreos/dbtester/pkg/yamlfile"
)

// loadSection declares load keys. To add one, add it here and to [workload.Load].
func loadSection(c Catalog) section[loadSpec] {
	return section[loadSpec]{Check: checkLoad, Fields: slices.Concat(
		operationFields(c), sessionFields(), lockFields(), lengthFields(), paceFields(), dataFields(c), limitFields(), verdictFields())}
}

// markdownLink matches a link in a key's meaning.
var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// LoadKeys describes load keys, which a command line may give, by name. Their meanings are plain
// text.
func LoadKeys(c Catalog) map[string]yamlfile.Row {
	rows := map[string]yamlfile.Row{}
	for _, f := range loadSection(c).Fields {
		r := f.Row
		r.Meaning = strings.ReplaceAll(markdownLink.ReplaceAllString(r.Meaning, "$1"), "`", "")
		rows[r.Name] = r
	}
	return rows
}

// operationFields declares operations and the keys that they use.
func operationFields(c Catalog) []field[loadSpec] {
	return slices.Concat(meaningFields(c), existingFields(), reachFields())
}

// meaningFields declares what requests do.
func meaningFields(c Catalog) []field[loadSpec] {
	meanings := func(loadSpec) []string { return []string{"operation", "mix", "workload"} }
	return []field[loadSpec]{
		loadKey[workload.Op]{
			Row: row{Name: "operation", Preset: "write",
				Meaning: "operation of every request: one of the [operations](#operations)"},
			Kind: yamlfile.WordKind(c.operations()...), At: func(l *loadSpec) *workload.Op { return &l.Operation },
			Shown: func(l *loadSpec) bool { return len(l.Mix) == 0 }, Drops: meanings,
		}.Field(),
		loadKey[[]shareSpec]{
			Row: row{Name: "mix", Unit: "weights",
				Meaning: "several operations and their weights; give one of `operation`, `mix`, `workload`"},
			Kind: mix(c), At: func(l *loadSpec) *[]shareSpec { return &l.mix },
			Shown: func(l *loadSpec) bool { return len(l.Mix) > 0 && l.Workload == "" }, Drops: meanings,
		}.Field(),
		loadKey[string]{
			Row: row{Name: "workload",
				Meaning: "a mix with a name and a key law: `ycsb-a` ... `ycsb-f` ([YCSB](#ycsb)), `kubernetes` ([Kubernetes](#kubernetes))"},
			Kind: yamlfile.WordKind(workloadNames()...), At: func(l *loadSpec) *string { return &l.Workload },
			Node: showWorkload, Drops: meanings,
		}.Field(),
	}
}

// existingFields declares the keys that exist before the load, and which of them requests use.
func existingFields() []field[loadSpec] {
	onMany := func(loadSpec) []string { return []string{"same_key"} }
	return []field[loadSpec]{
		loadKey[int64]{
			Row: row{Name: "keys", Unit: "keys", Preset: "1000",
				Meaning: "number of keys that are written before the load, for operations on keys that exist"},
			Kind: yamlfile.WholeKind(), At: func(l *loadSpec) *int64 { return &l.Keys },
			Shown: func(l *loadSpec) bool { return l.Keys > 0 }, Drops: onMany,
		}.Field(),
		preloadField(),
		loadKey[workload.KeyLaw]{
			Row: row{Name: "key_law", Preset: "uniform",
				Meaning: "which of these keys an operation uses ([key laws](#key-laws)); a workload brings its own"},
			Kind: yamlfile.WordKind(workload.KeyLaws()...), At: func(l *loadSpec) *workload.KeyLaw { return &l.KeyLaw },
			Shown: func(l *loadSpec) bool { return l.KeyLaw != "" }, Drops: onMany,
		}.Field(),
		loadKey[int64]{
			Row: row{Name: "hot_keys", Unit: "keys", Usually: "a hundredth of the keys",
				Meaning: "with `key_law: hotset`, how many keys are hot ([key laws](#key-laws))"},
			Kind: yamlfile.WholeKind(), At: func(l *loadSpec) *int64 { return &l.HotKeys },
			Shown: func(l *loadSpec) bool { return l.KeyLaw == workload.KeysHotset },
		}.Field(),
		loadKey[workload.Percent]{
			Row: row{Name: "hot_share", Preset: "90%",
				Meaning: "with `key_law: hotset`, the share of requests that take a hot key"},
			Kind: ability.PercentKind(), At: func(l *loadSpec) *workload.Percent { return &l.HotShare },
			Shown: func(l *loadSpec) bool { return l.KeyLaw == workload.KeysHotset },
		}.Field(),
		loadKey[int64]{
			Row: row{Name: "hot_moves", Unit: "requests", Preset: "0",
				Meaning: "with `key_law: hotset`, after how many requests the next keys are hot; 0 is never"},
			Kind: yamlfile.WholeKind(), At: func(l *loadSpec) *int64 { return &l.HotMoves },
			Shown: func(l *loadSpec) bool { return l.KeyLaw == workload.KeysHotset },
		}.Field(),
	}
}

// reachFields declares the keys that one request reads or writes.
func reachFields() []field[loadSpec] {
	return []field[loadSpec]{
		loadKey[int]{
			Row: row{Name: "range_limit", Unit: "keys", Preset: "100",
				Meaning: "largest number of keys that a `range`, or a page of it, reads"},
			Kind: yamlfile.SmallKind(), At: func(l *loadSpec) *int { return &l.RangeLimit },
			Shown: func(l *loadSpec) bool { return l.RangeLimit > 0 },
		}.Field(),
		loadKey[workload.RangeMode]{
			Row: row{Name: "range_mode", Preset: "values",
				Meaning: "what a `range` reads: `values`, `keys`, `count`, `pages` or `stream` ([ranges](#ranges))"},
			Kind: yamlfile.WordKind(workload.RangeModes()...), At: func(l *loadSpec) *workload.RangeMode { return &l.RangeMode },
			Shown: func(l *loadSpec) bool { return l.RangeMode != "" },
		}.Field(),
		loadKey[int]{
			Row: row{Name: "txn_keys", Unit: "keys", Preset: "1",
				Meaning: "how many keys a `txn` writes: its own and those with the next lower numbers ([transactions](#transactions))"},
			Kind: yamlfile.SmallKind(), At: func(l *loadSpec) *int { return &l.TxnKeys },
			Shown: func(l *loadSpec) bool { return l.TxnKeys > 0 },
		}.Field(),
	}
}

// plain reports whether a load has no steps.
func plain(l *loadSpec) bool { return len(l.Steps) == 0 }

// lengthFields declares the duration of a load and its clients.
func lengthFields() []field[loadSpec] {
	clients := func(loadSpec) []string { return []string{"clients", "steps"} }
	return []field[loadSpec]{
		loadKey[int64]{
			Row: row{Name: "requests", Unit: "requests", Preset: "100000",
				Meaning: "the load ends after this number of requests; no limit if there is a `duration`"},
			Kind: yamlfile.WholeKind(), At: func(l *loadSpec) *int64 { return &l.Requests },
			Shown: func(l *loadSpec) bool { return plain(l) && l.Requests > 0 },
		}.Field(),
		loadKey[time.Duration]{
			Row: row{Name: "duration",
				Meaning: "the load ends after this time; with both, whichever comes first"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.Duration },
			Shown: func(l *loadSpec) bool { return plain(l) && l.Duration > 0 },
		}.Field(),
		loadKey[int]{
			Row: row{Name: "clients", Unit: "clients", Preset: "100",
				Meaning: "how many requests can be in flight; a list such as `[1, 10, 100]` is short for `steps`"},
			Kind: clientCount(), At: func(l *loadSpec) *int { return &l.Clients },
			Read: readClients, Shown: plain, Drops: clients,
		}.Field(),
		loadKey[int]{
			Row: row{Name: "connections", Unit: "connections", Usually: "the clients, at most 100",
				Meaning: "how many connections the clients share; as many as clients where they cannot be shared"},
			Kind: yamlfile.SmallKind(), At: func(l *loadSpec) *int { return &l.Connections }, Shown: plain,
		}.Field(),
		loadKey[[]written[workload.Step]]{
			Row: row{Name: "steps", Unit: "list",
				Meaning: "stretches one after the other, each with the keys of the [next table](#keys-of-a-step)"},
			Kind: stepList(), At: func(l *loadSpec) *[]written[workload.Step] { return &l.steps },
			Shown: func(l *loadSpec) bool { return !plain(l) }, Node: showSteps, Drops: clients,
		}.Field(),
	}
}

// paceFields declares when requests are due.
func paceFields() []field[loadSpec] {
	rated := func(l *loadSpec) bool { return l.Rated() }
	return []field[loadSpec]{
		loadKey[float64]{
			Row: row{Name: "rate", Preset: "0",
				Meaning: "requests that are due each second, of all clients together; 0 is a closed loop"},
			Kind: yamlfile.PerSecondKind(), At: func(l *loadSpec) *float64 { return &l.Rate },
			Drops: func(l loadSpec) []string {
				if l.Rate == 0 {
					return []string{"rate_end", "arrival", "period", "peak", "burst", "backlog", "bind", "drain"}
				}
				return []string{"rate_end"}
			},
		}.Field(),
		loadKey[float64]{
			Row: row{Name: "rate_end",
				Meaning: "the rate at the end of the duration; it changes evenly from `rate`"},
			Kind: yamlfile.PerSecondKind(), At: func(l *loadSpec) *float64 { return &l.RateEnd },
			Shown: func(l *loadSpec) bool { return l.RateEnd > 0 },
		}.Field(),
		loadKey[time.Duration]{
			Row: row{Name: "ramp", Preset: "0s",
				Meaning: "the clients of a closed loop begin one after the other over this time"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.Ramp },
			Shown: func(l *loadSpec) bool { return plain(l) && l.Rate == 0 },
		}.Field(),
		loadKey[workload.Arrival]{
			Row: row{Name: "arrival", Preset: "constant",
				Meaning: "how requests of a rate are spaced: `constant`, `poisson`, `sine` or `bursts` ([below](#when-requests-are-due)); needs a `rate`"},
			Kind: yamlfile.WordKind(workload.Arrivals()...), At: func(l *loadSpec) *workload.Arrival { return &l.Arrival }, Shown: rated,
		}.Field(),
		loadKey[time.Duration]{
			Row:  row{Name: "period", Preset: "10s", Meaning: "of `sine` and `bursts`: after this time the rate repeats"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.Period },
			Shown: func(l *loadSpec) bool { return l.Arrival.Waves() },
		}.Field(),
		loadKey[float64]{
			Row:  row{Name: "peak", Unit: "times the rate", Preset: "2", Meaning: "of `sine` and `bursts`: the highest rate; `rate` is the mean"},
			Kind: yamlfile.FactorKind(), At: func(l *loadSpec) *float64 { return &l.Peak },
			Shown: func(l *loadSpec) bool { return l.Arrival.Waves() },
		}.Field(),
		loadKey[time.Duration]{
			Row:  row{Name: "burst", Preset: "1s", Meaning: "of `bursts`: each period begins with this time at the highest rate"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.Burst },
			Shown: func(l *loadSpec) bool { return l.Arrival == workload.ArrivalBursts },
		}.Field(),
		loadKey[workload.Backlog]{
			Row: row{Name: "backlog", Preset: "keep",
				Meaning: "what happens to a request that finds every client busy: `keep` or `shed`; needs a `rate`"},
			Kind: yamlfile.WordKind(workload.Backlogs()...), At: func(l *loadSpec) *workload.Backlog { return &l.Backlog }, Shown: rated,
		}.Field(),
		loadKey[workload.Bind]{
			Row: row{Name: "bind", Preset: "any",
				Meaning: "who sends a request: `any` free client, or the `client` whose turn it is, for which the request waits ([below](#users-who-stay-with-their-client)); needs a `rate`"},
			Kind: yamlfile.WordKind(workload.Binds()...), At: func(l *loadSpec) *workload.Bind { return &l.Bind },
			Shown: func(l *loadSpec) bool { return l.Bind == workload.BindClient },
		}.Field(),
	}
}

// dataFields declares key and value sizes, and the read mode.
func dataFields(c Catalog) []field[loadSpec] {
	onOneKey := func(l loadSpec) []string {
		if l.SameKey {
			return []string{"keys", "key_law", "preload"}
		}
		return nil
	}
	return []field[loadSpec]{
		loadKey[int]{
			Row: row{Name: "key_size", Preset: "256",
				Meaning: "exact length of a key, a decimal number with leading zeros"},
			Kind: yamlfile.SizeKind(), At: func(l *loadSpec) *int { return &l.KeySize },
		}.Field(),
		loadKey[int]{
			Row: row{Name: "value_size", Preset: "1024",
				Meaning: "exact length of a value; a range such as `256B-4KiB` makes lengths uniform between both ends"},
			Kind: rangedSize(), At: func(l *loadSpec) *int { return &l.ValueSize }, Read: readSizes,
			Shown: func(l *loadSpec) bool { return l.Sizes.Law == "" },
			Drops: func(loadSpec) []string { return []string{"value_size_max", "value_sizes"} },
		}.Field(),
		loadKey[int]{
			Row: row{Name: "value_size_max",
				Meaning: "the end of such a range, when `value_size` is its beginning (16 bytes or more)"},
			Kind: yamlfile.SizeKind(), At: func(l *loadSpec) *int { return &l.ValueSizeMax },
			Shown: func(l *loadSpec) bool { return l.ValueSizeMax > 0 && l.Sizes.Law == "" },
		}.Field(),
		sizesField(),
		loadKey[bool]{
			Row: row{Name: "same_key", Preset: "false",
				Meaning: "every request goes to one key; excludes `keys` and `key_law`"},
			Kind: yamlfile.TruthKind(), At: func(l *loadSpec) *bool { return &l.SameKey }, Drops: onOneKey,
		}.Field(),
		loadKey[workload.ReadMode]{
			Row: row{Name: "read", Usually: "the database's first",
				Meaning: "guarantee of a read: `linearizable`, `sync+get`, `leader` or `stale`, for operations that read"},
			Kind: yamlfile.WordKind(c.reads()...), At: func(l *loadSpec) *workload.ReadMode { return &l.Read },
			Shown: func(l *loadSpec) bool { return l.Read != "" },
		}.Field(),
	}
}

// limitFields declares time limits and the members that receive requests.
func limitFields() []field[loadSpec] {
	return []field[loadSpec]{
		loadKey[time.Duration]{
			Row:  row{Name: "timeout", Preset: "10s", Meaning: "deadline of one request, counted from when it was sent"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.Timeout },
		}.Field(),
		loadKey[time.Duration]{
			Row: row{Name: "drain", Usually: "the `timeout`",
				Meaning: "for this time after the end, requests that were due are still sent; needs a `rate`"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.Drain },
			Shown: func(l *loadSpec) bool { return l.Rated() },
		}.Field(),
		loadKey[time.Duration]{
			Row:  row{Name: "warm_up", Preset: "0s", Meaning: "cut from the measurement at the beginning of each step"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.WarmUp },
		}.Field(),
		loadKey[time.Duration]{
			Row:  row{Name: "cool_down", Preset: "0s", Meaning: "the same at the end; needs a `duration`"},
			Kind: yamlfile.DurationKind(), At: func(l *loadSpec) *time.Duration { return &l.CoolDown },
		}.Field(),
		loadKey[string]{
			Row: row{Name: "target", Unit: "word", Preset: "all",
				Meaning: "members that connections go to: `all` in turn, `leader`, `follower`, or one host's address or endpoint"},
			Kind: yamlfile.TextKind(), At: func(l *loadSpec) *string { return &l.Target },
		}.Field(),
		loadKey[workload.Failover]{
			Row: row{Name: "failover", Usually: "the database's",
				Meaning: "where a client reconnects after its member is lost: to the `next` member, or to the same one (`none`) ([clients without a server](#clients-without-a-server))"},
			Kind: yamlfile.WordKind(workload.Failovers()...), At: func(l *loadSpec) *workload.Failover { return &l.Failover },
			Shown: func(l *loadSpec) bool { return l.Failover != "" },
		}.Field(),
	}
}

// checkLoad reports keys in one mapping that exclude one another.
func checkLoad(r *yamlfile.Reader, w *written[loadSpec]) {
	if clients, steps := w.NodeOf("clients"), w.NodeOf("steps"); clients != nil && steps != nil {
		r.Errorf(clients, "clients: steps (line %d) give the number of clients; give one of the two", steps.Line)
	}
	checkSizes(r, w)
	places := yamlfile.PlacesInOrder(w.Place("operation"), w.Place("mix"), w.Place("workload"))
	for i := 1; i < len(places); i++ {
		r.Errorf(places[i].At, "%s: %s (line %d) already sets the operations; give one of operation, mix and workload",
			places[i].Key, places[0].Key, places[0].At.Line)
	}
}

func showLoad(c Catalog, l workload.Load) *yamlfile.Node {
	spec := loadSpec{Load: l}
	spec.judge.Is = judgeSpecOf(l.Judge)
	spec.expect.Is = l.Expect
	for _, s := range l.Mix {
		spec.mix = append(spec.mix, shareSpec{Share: s})
	}
	return loadSection(c).Show(&spec).Node()
}
