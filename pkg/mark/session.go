package mark

// Marks about sessions that are held during a load.
const (
	SessionsEarly = "sessions early"
	SessionsLost  = "sessions lost"
	SessionsShort = "sessions not held"
)

func sessionMarks() []Kind {
	return []Kind{
		{
			Code: SessionsEarly, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "{early} of {held|session} ended before the database's rule allows: {rule}", Worst: "early"}},
			Help:      "the database ended sessions whose holders had renewed them in time: a live client was taken for dead",
			Remedy:    "report it to the database's project, with the clocks of the members",
		},
		{
			Code: SessionsLost, Weight: Weakens,
			Sentences: []Sentence{{Text: "{lost} of {held|session} ended while they were held: {unanswered} because the database answered no renewal, {missed} because the client sent none in time", Worst: "lost", Effect: nothing}},
			Help:      "sessions ended after their TTL although nobody let them die",
			Remedy:    "use a longer `ttl` or a shorter `keep`, fewer sessions, or a larger client machine",
		},
		{
			Code: SessionsShort, Weight: Weakens,
			Sentences: []Sentence{{Text: "{not_granted} of {wanted|session} were not granted, and {left} could not be ended after the load: {why}", Worst: "not_granted", Effect: nothing}},
			Help:      "fewer sessions were held than the file asks for, or some were left to expire by themselves",
			Remedy:    "see the reason next to the mark",
		},
	}
}
