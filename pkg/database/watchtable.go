package database

// WatchTableHead is the first line of a [WatchTable].
const WatchTableHead = "| database | kind | how | events have | a watcher hears of | it watches | `reconnect` |"

// WatchTable returns a Markdown table that documents the watches of databases with default options:
// a row for each kind, or the reason why a database has no watches.
func WatchTable(list []Database) string {
	var rows [][]string
	for _, d := range list {
		all := WatchesOf(d.Info, d.New())
		if len(all) == 0 {
			rows = append(rows, []string{d.Name, "none: " + d.Info.NoWatches, "", "", "", "", ""})
		}
		for _, f := range all {
			rows = append(rows, append([]string{d.Name}, f.cells()...))
		}
	}
	return markdown(WatchTableHead, rows)
}

// cells returns the cells of a kind.
func (f WatchFacts) cells() []string {
	have, hears, watches, resumes := "key and version", "every write", "one key", "refused: "+f.NoResume
	if f.Values {
		have = "value and version"
	}
	if f.Coalesces {
		hears = "the newest write of a key"
	}
	if f.Ordered {
		hears += ", in order"
	}
	switch {
	case f.Ranges && f.NoParts == "":
		watches = "one key, all or ranges"
	case f.Ranges:
		watches = "one key or all: " + f.NoParts
	}
	if f.NoResume == "" {
		resumes = "goes on after a version"
	}
	return []string{"`" + string(f.Kind) + "`", f.How, have, hears, watches, resumes}
}
