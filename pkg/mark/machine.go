package mark

// Marks about machines.
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
				{Text: "generators {generator} and {others} share a machine: together they issue no more load than one of them could"},
				{Text: "generator {generator} and at least one member " + compete},
				{Text: "{who} and at least one member " + compete},
			},
			Help:   "the client and a member, or two generators, run on one machine and compete for its processors",
			Remedy: "give each a machine of its own, or set [`resources`](resources.md)",
		},
		{
			Code: OtherLoad, Weight: Weakens,
			Sentences: []Sentence{{Text: "{share_percent} of the {processors|processor} of {host}, which runs {parts}, were used by other programs during the load" + above, Worst: "share_percent", Effect: upTo(Both, "share_percent")}},
			Help:      "other programs used processors on one of the run's machines",
			Remedy:    "give each a machine of its own, or set [`resources`](resources.md)",
		},
		{
			Code: Clock, Weight: Weakens,
			Sentences: []Sentence{
				{Text: "member {member}: its clock was off by {off_seconds}, give or take {error_seconds} (mark above {bound_seconds}): the times of its samples and logs are corrected, its own records are not", Worst: "off_seconds", Effect: nothing},
				{Text: "member {member}: its clock moved by at least {moved_seconds} relative to the client's clock during the run (mark above {bound_seconds})", Worst: "moved_seconds", Effect: nothing},
				{Text: "member {member}: its clock is known only to within {error_seconds}", Worst: "error_seconds", Effect: nothing},
				{Text: "generator {generator}: its clock moved by at least {moved_seconds} relative to control's clock during step {step}, and was known to within {error_seconds} when the step began: the times of its seconds moved as well", Worst: "moved_seconds", Effect: nothing},
				{Text: "generator {generator}: its wall clock was changed by {set_seconds} during the run: the times of its samples moved as well, the times of its requests did not", Worst: "set_seconds", Effect: nothing},
				{Text: "generator {generator}: its clock is known only to within {error_seconds}, so its seconds may begin earlier or later than the others' by that much", Worst: "error_seconds", Effect: nothing},
			},
			Help:   "a machine's clock was far off, moved, or is not known well: series by second may be shifted; response times are not, because each is measured with a single clock",
			Remedy: "check `chronyc tracking`; run a time service and wait until it is synchronized",
		},
	}
}
