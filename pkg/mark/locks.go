package mark

// Marks about locks for which contenders compete during a load.
const (
	LocksOverlap  = "locks held twice"
	LocksFences   = "fences out of order"
	LocksEarly    = "locks passed early"
	LocksBelieved = "locks believed held"
	LocksShort    = "locks not contended"
)

func lockMarks() []Kind {
	return []Kind{
		{
			Code: LocksOverlap, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "{overlaps} of {acquired|lock} were acquired while another holder believed that it held the same one (recipe {recipe})", Worst: "overlaps"}},
			Help:      "two contenders held one lock at once, on the clock of one process or beyond the error of the clocks of two, and no stop of this client explains it",
			Remedy:    "use the fences; report it to the project of the database or of the library whose recipe it is, with the rows of `turns.csv`, if there are some",
		},
		{
			Code: LocksFences, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "{disorder} of {acquired|lock} had a fence that was not greater than that of the holder before: {fence}", Worst: "disorder"}},
			Help:      "a store that compares fences would have refused the holder of a lock, or let two in",
			Remedy:    "report it to the database's project, with the rows of `turns.csv`, if there are some",
		},
		{
			Code: LocksEarly, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "{early} of {dead|dead holder} lost their lock before the database's rule allows: {rule}", Worst: "early"}},
			Help:      "the database ended sessions whose holders could still have renewed them in time",
			Remedy:    "report it to the database's project, with the clocks of the members",
		},
		{
			Code: LocksBelieved, Weight: Weakens,
			Sentences: []Sentence{{Text: "of {acquired|lock}, {believed} were believed held after the session had ended because this client was stopped, and {lost} were not held any more when they were given up", Worst: "believed", Effect: nothing}},
			Help:      "a holder that is stopped for longer than its session lasts does not know that it has lost its lock: only fences protect from what it does then",
			Remedy:    "run nothing else on the client machine, or use a longer `ttl`",
		},
		{
			Code: LocksShort, Weight: Weakens,
			Sentences: []Sentence{{Text: "[{missing|contender} could not be opened, ][{refused|request} for locks failed, ][{left|contender} could not be closed, ]the first because of: {why}", Effect: nothing}},
			Help:      "fewer contenders competed than the file asks for, requests for locks ended with errors, or something of them was left to expire by itself",
			Remedy:    "see the reason next to the mark",
		},
	}
}
