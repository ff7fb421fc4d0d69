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
			Help:      "a file of the records was truncated or lost",
			Remedy:    "the report names the missing parts",
		},
		{
			Code: Incomplete, Weight: Invalid,
			Sentences: []Sentence{
				{Text: "the run failed: {why}"},
				{Text: "the run was {state}, so its records are incomplete"},
				{Text: "according to the manifest the run has not ended: control is still running it or died, so its records are incomplete"},
			},
			Help:   "the run failed, was interrupted, or its control died, so its result was never judged",
			Remedy: "run it again; `dbtester analyze` prints the recorded part and exits with 3",
		},
		{
			Code: NotUploaded, Weight: Harmless,
			Sentences: []Sentence{{Text: "the upload to {url} that the experiment requests was skipped", Effect: nothing}},
			Help:      "the upload was skipped, or the store could not be reached",
			Remedy:    "`dbtester upload RUN URL` sends the missing files",
		},
		{
			Code: Profiled, Weight: Weakens,
			Sentences: []Sentence{{Text: "{profiled} of {members|member} profiled their processor time for {profile_seconds} of the load, which slowed them slightly"}},
			Help:      "members profiled themselves, which costs them processor time",
			Remedy:    "compare only with runs that do the same",
		},
		{
			Code: NotProfiled, Weight: Harmless,
			Sentences: []Sentence{
				{Text: "members of {database} cannot profile themselves", Effect: nothing},
				{Text: "the load is shorter than the requested profile of {asked_seconds}: only {profile_seconds} are profiled", Effect: nothing},
				{Text: "member {member}: the load ended before its profile of {profile_seconds}", Effect: nothing},
				{Text: "member {member}: {why}", Effect: nothing},
			},
			Help:   "a profile that the file requests is missing or too short",
			Remedy: "use a longer load",
		},
	}
}
