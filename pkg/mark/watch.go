package mark

// Marks about clients that watch keys during a load.
const (
	WatchLost      = "watch lost"
	WatchReordered = "watch reordered"
	WatchDuplicate = "watch duplicate"
	WatchInPart    = "watch in part"
)

func watchMarks() []Kind {
	return []Kind{
		{
			Code: WatchLost, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "watchers never heard of {lost|write} that were acknowledged, besides {delivered|delivery}: first {first}", Worst: "lost"}},
			Help:      "a watcher was not told of an acknowledged write, although all that the database had to report by the end of the load had come",
			Remedy:    "report it to the database's project, with the versions in the manifest's `watched`",
		},
		{
			Code: WatchReordered, Weight: Invalid, Foremost: true,
			Sentences: []Sentence{{Text: "watchers heard of {reordered|write} after newer ones, among {delivered|delivery}: first {first}", Worst: "reordered"}},
			Help:      "a database that promises the order of its versions reported them in another one",
			Remedy:    "report it to the database's project, with the versions in the manifest's `watched`",
		},
		{
			Code: WatchDuplicate, Weight: Weakens,
			Sentences: []Sentence{{Text: "watchers heard of {duplicate|write} again, among {delivered|delivery}: first {first}", Worst: "duplicate", Effect: nothing}},
			Help:      "a watcher was told of the same version more than once",
			Remedy:    "report it to the database's project, if it promises each version once",
		},
		{
			Code: WatchInPart, Weight: Weakens,
			Sentences: []Sentence{{Text: "{missing|delivery} were not judged, besides {delivered} that came: {why}", Worst: "missing", Effect: nothing}},
			Help:      "a connection of watchers ended, not all that the database had to report came in time, or too much was kept of watchers that were far behind: what is missing may not be lost",
			Remedy:    "see the reason next to the mark; use fewer watchers or a lower rate if there is none",
		},
	}
}
