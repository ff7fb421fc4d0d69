package mark

// The marks of data and counts that are not what they must be.
const (
	WrongValue  = "wrong value"
	Keys        = "keys found"
	KeysUnknown = "keys not counted"
	Counts      = "counts"
)

func integrityMarks() []Kind {
	return []Kind{
		{
			Code: WrongValue, Weight: Invalid,
			Sentences: []Sentence{
				{Text: "{wrong} of {answers|answer} had a value that this load never wrote under the key", Worst: "wrong"},
				{Text: "{wrong|answer} had a value that this load never wrote under the key", Worst: "wrong"},
			},
			Help:   "an answer had another key's value or an altered one: the store, the client or what lies between mixes up data",
			Remedy: "nobody else on the cluster, no values of an earlier load; else report it to the project of the database, or of this client",
		},
		{
			Code: Keys, Weight: Invalid,
			Sentences: []Sentence{{Text: "{added|key} were added by the database's own count, but ok {least_added} <= added <= ok + unknown {most_added} does not hold"}},
			Help:      "the database has fewer or more keys than were acknowledged: lost writes, or others wrote",
			Remedy:    "nobody else on the cluster; else report it to the database's project",
		},
		{
			Code: KeysUnknown, Weight: Weakens,
			Sentences: []Sentence{{Text: "the keys could not be counted after the load: {why}"}},
			Help:      "whether every acknowledged write is there is not known",
			Remedy:    "the reason beside the mark; a healthy cluster at the end of the load",
		},
		{
			Code: Counts, Weight: Invalid,
			Sentences: []Sentence{{Text: "offered {offered} is not ok {ok} + failed {failed} + unknown {unknown} + shed {shed} + unsent {unsent}"}},
			Help:      "the counts of a load do not add up: an error of this program",
			Remedy:    "report it with the run's folder",
		},
	}
}
