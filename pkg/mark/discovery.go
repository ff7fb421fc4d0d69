package mark

// Marks about service instances that register during a load.
const (
	InstancesEarly  = "instances early"
	ChangesLost     = "changes lost"
	DiscoveryInPart = "discovery in part"
)

func discoveryMarks() []Kind {
	return []Kind{
		{
			Code: InstancesEarly, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "{early} of {registered|instance} were declared dead before the database's rule allows, {alive} of them alive: {rule}", Worst: "early"}},
			Help:      "the database ended registrations that were renewed in time: consumers would have left a living instance",
			Remedy:    "report it to the database's project, with the clocks of the members",
		},
		{
			Code: ChangesLost, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "consumers never heard of {lost|change} that others heard of, among {told|change}: first {first}", Worst: "lost"}},
			Help:      "a consumer was not told that an instance came or went, although it was told of an instance that came later",
			Remedy:    "report it to the database's project, with the witnesses in the manifest's `discovered`",
		},
		{
			Code: DiscoveryInPart, Weight: Weakens,
			Sentences: []Sentence{{Text: "{not_registered} of {wanted|instance} were not registered, {unanswered} ended because the database answered no renewal, {missed} because the client sent none in time; {broken|consumer} stopped, {behind|change} had not come by the end, and {left} could not be ended: {why}", Worst: "behind", Effect: nothing}},
			Help:      "fewer instances or consumers took part than the file asks for, or not all that happened was known by the end of the load",
			Remedy:    "see the reason next to the mark; use a longer `ttl` or load, fewer instances, or a larger client machine",
		},
	}
}
