package mark

// Marks about the records themselves.
const (
	Gap         = "gap"
	Incomplete  = "incomplete"
	NotUploaded = "not uploaded"
	// RequestsDamaged concerns files from which request numbers are computed, and RecordsDamaged
	// all other files.
	RequestsDamaged = "requests damaged"
	RecordsDamaged  = "records damaged"
	RecordsChanged  = "records changed"
	NoDigests       = "no digests"
	Profiled        = "profiled"
	NotProfiled     = "not profiled"
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
			Code: RequestsDamaged, Weight: Invalid,
			Sentences: damages(),
			Help:      "a file that numbers of requests are computed from is not as it was when the run ended: a part of it was lost, or it was edited or copied wrongly",
			Remedy:    "take the records from where they were made, or run it again",
		},
		{
			Code: RecordsDamaged, Weight: Weakens,
			Sentences: damages(),
			Help:      "samples, logs, events or clocks are not as they were when the run ended: rows about servers and machines may lack a part",
			Remedy:    "take the records from where they were made",
		},
		{
			Code: RecordsChanged, Weight: Harmless,
			Sentences: []Sentence{
				{Text: "{by} changed {files|file} after the run: {what}", Effect: nothing},
				{Text: "{by} made the digests after the run: what was lost before does not show", Effect: nothing},
			},
			Help:   "records were changed on purpose after the run, such as logs that were cut to publish them, or were collected later",
			Remedy: "read which files they are; numbers of requests are those of the run",
		},
		{
			Code: NoDigests, Weight: Weakens,
			Sentences: []Sentence{{Text: "the run did not end with sizes and hashes of its records: loss and damage of them would not show"}},
			Help:      "control was lost before it had noted the sizes and hashes of the records",
			Remedy:    "run it again",
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

// damages returns the sentences about files that differ from the record.
func damages() []Sentence {
	return []Sentence{
		{Text: "{file} has {bytes|byte} in place of the {recorded_bytes} that were recorded"},
		{Text: "{file} has other contents than were recorded, of the same size: {same_bytes|byte}"},
		{Text: "{file} is missing or cannot be read: {why}"},
		{Text: "{more|more file} are not as they were recorded either"},
	}
}
