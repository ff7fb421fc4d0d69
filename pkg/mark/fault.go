package mark

// Marks about faults an experiment requests.
const (
	FaultFailed    = "fault failed"
	NotRecovered   = "not recovered"
	RepeatsMissing = "repeats missing"
	ProbesMissing  = "probes missing"
)

func faultMarks() []Kind {
	return []Kind{
		{
			Code: FaultFailed, Weight: Invalid,
			Sentences: []Sentence{{Text: "{kind} of member {member}: {why}"}},
			Help:      "a fault that the experiment asks for did not take hold or could not be undone, so the numbers are of something else",
			Remedy:    "see the reason, and the agent's log",
		},
		{
			Code: NotRecovered, Weight: Invalid,
			Sentences: []Sentence{{Text: "{kind} of member {member}: the load was not as before within {waited_seconds} of its end", Worst: "waited_seconds"}},
			Help:      "after a fault was over, no two seconds had 95 % of the ok requests of the time before it without a failed or unknown one, before the next fault or the end of the load",
			Remedy:    "see the members' logs; give the load more time behind the fault, or fewer requests",
		},
		{
			Code: RepeatsMissing, Weight: Weakens,
			Sentences: []Sentence{{Text: "the load recovered so late that only {began} of {asked} repeats of its faults were whole", Effect: nothing}},
			Help:      "faults waited for the load to recover (`until: recovered`), and the load would have ended before the repeats that were left out",
			Remedy:    "give the load a longer duration, or `repeat` fewer times",
		},
		{
			Code: ProbesMissing, Weight: Weakens,
			Sentences: []Sentence{{Text: "{why}", Effect: nothing}},
			Help:      "probes of members were not recorded, or their keys not removed",
			Remedy:    "see the reason",
		},
	}
}
