package mark

// The marks of the records themselves.
const (
	Gap         = "gap"
	Incomplete  = "incomplete"
	NotUploaded = "not uploaded"
	Profiled    = "profiled"
	NotProfiled = "not profiled"
)

func recordMarks() []Kind {
	return []Kind{
		{
			Code: Gap, Weight: Weakens,
			Sentences: []Sentence{{Text: "{what}"}},
			Help:      "a file of the record was cut or lost",
			Remedy:    "the report names what is missing",
		},
		{
			Code: Incomplete, Weight: Invalid,
			Sentences: []Sentence{
				{Text: "the run failed: {why}"},
				{Text: "the run was {state}, and the records end there"},
				{Text: "the manifest says that the run is running: control is still at it, or died in it, and the records end there"},
			},
			Help:   "the run failed, was interrupted, or its control died: nothing was judged at its end",
			Remedy: "run it again; `dbtester analyze` prints what was recorded and exits with 3",
		},
		{
			Code: NotUploaded, Weight: Harmless,
			Sentences: []Sentence{{Text: "the upload to {url} that the experiment asks for is left out", Effect: nothing}},
			Help:      "the upload was left out, or the store was not reached",
			Remedy:    "`dbtester upload RUN URL` sends what is missing",
		},
		{
			Code: Profiled, Weight: Weakens,
			Sentences: []Sentence{{Text: "{profiled} of {members|member} profiled their processor time for {profile_seconds} of the load, which cost them a little"}},
			Help:      "members profiled themselves, which costs them processor time",
			Remedy:    "compare with runs that do the same",
		},
		{
			Code: NotProfiled, Weight: Harmless,
			Sentences: []Sentence{
				{Text: "members of {database} cannot profile themselves", Effect: nothing},
				{Text: "the load is shorter than a profile of {asked_seconds}: {profile_seconds} are profiled", Effect: nothing},
				{Text: "member {member}: the load ended before a profile of {profile_seconds}", Effect: nothing},
				{Text: "member {member}: {why}", Effect: nothing},
			},
			Help:   "a profile that the file asks for is missing or shorter",
			Remedy: "a longer load",
		},
	}
}
