package mark

// The marks of machines.
const (
	SharedHost = "shared host"
	OtherLoad  = "other load"
	Clock      = "clock"
)

func machineMarks() []Kind {
	const compete = "share a machine: they compete for its processors, disk and network"
	return []Kind{
		{
			Code: SharedHost, Weight: Weakens,
			Sentences: []Sentence{
				{Text: "generators {generator} and {others} share a machine: together they issue no more than one could"},
				{Text: "generator {generator} and at least one member " + compete},
				{Text: "{who} and at least one member " + compete},
			},
			Help:   "the client and a member, or two generators, run on one machine and take each other's processors",
			Remedy: "machines of their own, or [`resources`](resources.md)",
		},
		{
			Code: OtherLoad, Weight: Weakens,
			Sentences: []Sentence{{Text: "{share_percent} of the {processors|processor} of {host}, which has {parts}, were used by others during the load" + above, Worst: "share_percent", Effect: upTo(Both, "share_percent")}},
			Help:      "other programs used the processors of a machine of the run",
			Remedy:    "machines of their own, or [`resources`](resources.md)",
		},
		{
			Code: Clock, Weight: Weakens,
			Sentences: []Sentence{
				{Text: "member {member}: its clock was off by {off_seconds}, give or take {error_seconds} (mark above {bound_seconds}): its samples and logs are converted, its own records are not", Worst: "off_seconds", Effect: nothing},
				{Text: "member {member}: its clock moved by at least {moved_seconds} against the client's during the run (mark above {bound_seconds})", Worst: "moved_seconds", Effect: nothing},
				{Text: "member {member}: its clock is known to {error_seconds} only", Worst: "error_seconds", Effect: nothing},
				{Text: "generator {generator}: its clock moved by at least {moved_seconds} against control's during step {step}, and was known to {error_seconds} when the step began: its seconds moved with it", Worst: "moved_seconds", Effect: nothing},
				{Text: "generator {generator}: its wall clock was set by {set_seconds} during the run: the times of its samples moved with it, those of its requests did not", Worst: "set_seconds", Effect: nothing},
				{Text: "generator {generator}: its clock is known to {error_seconds} only, so its seconds may begin that far from the others'", Worst: "error_seconds", Effect: nothing},
			},
			Help:   "a machine's clock is far off, moved, or is not known well: series by second may be shifted; response times are taken from one clock and are not",
			Remedy: "`chronyc tracking`; a time service, and wait until it is synchronized",
		},
	}
}
