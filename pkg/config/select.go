package config

import (
	"fmt"
	"strings"
)

// Select keeps only the database with that id.
func (e *Experiment) Select(id string) error {
	ids := make([]string, len(e.Databases))
	for i, d := range e.Databases {
		if d.ID == id {
			e.Databases = e.Databases[i : i+1 : i+1]
			return nil
		}
		ids[i] = d.ID
	}
	return fmt.Errorf("unknown database id %q%s", id, hint(id, ids))
}

// hint ends a message about an unknown word: the nearest known one, or all of
// them if they are few.
func hint(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	if len(known) > 0 && len(known) <= 10 {
		return fmt.Sprintf(" (known: %s)", strings.Join(known, ", "))
	}
	return ""
}
