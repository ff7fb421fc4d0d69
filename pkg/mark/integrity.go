package mark

// Marks about wrong data and counts.
const (
	WrongValue  = "wrong value"
	Keys        = "keys found"
	KeysUnknown = "keys not counted"
	Counts      = "counts"
	// NotLinearizable and LostWrites concern judged answers.
	NotLinearizable = "not linearizable"
	LostWrites      = "lost writes"
	JudgedInPart    = "judged in part"
)

func integrityMarks() []Kind {
	return []Kind{
		{
			Code: WrongValue, Weight: Invalid,
			Sentences: []Sentence{
				{Text: "{wrong} of {answers|answer} had a value that this load never wrote to the key", Worst: "wrong"},
				{Text: "{wrong|answer} had a value that this load never wrote to the key", Worst: "wrong"},
			},
			Help:   "an answer had another key's value or an altered one: the store, the client or the network between them mixes up data",
			Remedy: "use a cluster that nobody else uses, without values of an earlier load; otherwise report it to the database's or this client's project",
		},
		{
			Code: Keys, Weight: Invalid,
			Sentences: []Sentence{{Text: "by the database's own count {added|key} were added, but the answers allow only {least_added} to {most_added}"}},
			Help:      "the database has fewer or more keys than it acknowledged: it lost writes, or other clients wrote",
			Remedy:    "use a cluster that nobody else uses; otherwise report it to the database's project",
		},
		{
			Code: KeysUnknown, Weight: Weakens,
			Sentences: []Sentence{{Text: "the keys could not be counted after the load: {why}"}},
			Help:      "it is not known whether every acknowledged write was kept",
			Remedy:    "see the reason next to the mark; the cluster must be healthy at the end of the load",
		},
		{
			Code: Counts, Weight: Invalid,
			Sentences: []Sentence{{Text: "offered {offered} does not equal ok {ok} + failed {failed} + unknown {unknown} + shed {shed} + unsent {unsent}"}},
			Help:      "the counts of a load do not add up: an error of this program",
			Remedy:    "report it, with the run's folder",
		},
		{
			Code: NotLinearizable, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "{violations} of {judged|request} that were judged had an answer that no register gives ({classes})", Worst: "violations"}},
			Help:      "a read returned a value that had surely been replaced, that nobody wrote or whose write had failed, or two swaps replaced one value. The database does not keep the promise of its read mode, so its speed is that of no such store",
			Remedy:    "`dbtester consistency RUN` shows the requests that exclude each other; report it to the database's project, or see [what is judged](consistency.md)",
		},
		{
			Code: LostWrites, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "{lost} of {read|key} that were read back after the load had lost their last write: {older} had an older value, {absent} were not there", Worst: "lost"}},
			Help:      "writes that the database had acknowledged are not there after the load",
			Remedy:    "report it to the database's project, with the faults of the load if there were some",
		},
		{
			Code: JudgedInPart, Weight: Harmless,
			Sentences: []Sentence{{Text: "{unjudged|request} could not be judged, {late} of them because they came too late", Worst: "unjudged", Effect: nothing}},
			Help:      "not every request was judged: there are more keys than are judged, or a client was not seen in time",
			Remedy:    "use fewer keys; otherwise report it, with the run's folder",
		},
	}
}
