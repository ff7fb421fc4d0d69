package database

import (
	"fmt"
	"time"
)

// LockTableHead is the first line of a [LockTable].
const LockTableHead = "| database | a lock is | recipe | who is next | a contender waits for | fence | the lock of a dead holder passes after |"

// LockTable returns a Markdown table that documents the locks of databases with default options: a
// row for each recipe, or the reason why a database has no locks.
func LockTable(list []Database) string {
	var rows [][]string
	for _, d := range list {
		f := LockFactsOf(d.Info, d.New())
		if f == nil {
			rows = append(rows, []string{d.Name, "none: " + d.Info.NoLocks, "", "", "", "", ""})
			continue
		}
		for _, r := range f.Recipes {
			rows = append(rows, append([]string{d.Name, f.What}, f.cells(r)...))
		}
	}
	return markdown(LockTableHead, rows)
}

// cells returns the cells of a recipe.
func (f LockFacts) cells(r LockRecipe) []string {
	name, next := fmt.Sprintf("`%s`", r.Name), "a race"
	if r.Library != "" {
		name += fmt.Sprintf(" (`%s`)", r.Library)
	}
	if r.Queue {
		next = "a queue"
	}
	ttl := f.Session.Granted(f.Session.Least)
	earliest, latest := f.Passes(r, LockOptions{TTL: ttl, Delay: f.Delay})
	passes := fmt.Sprintf("%v to %v with a TTL of %v", earliest.Round(time.Millisecond), latest.Round(time.Millisecond), ttl)
	if f.Delay > 0 {
		passes += fmt.Sprintf(" and a %s of %v", f.Delayed, f.Delay)
	}
	return []string{name, next, r.Waits, r.Fence, passes}
}
