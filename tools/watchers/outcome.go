package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// All experiments run a server on each address in members. hosts is their line in the experiment
// file.
var (
	members = []string{"127.0.17.1", "127.0.17.2", "127.0.17.3"}
	hosts   = "hosts: [" + strings.Join(members, ", ") + "]\n"
)

// outcome has the stages and the counts for the watchers in the only database.
type outcome struct {
	Stages []struct {
		Watchers int
		Start    time.Time
		Length   time.Duration `json:"length_ns"`
	}
	Counts struct {
		Writes, Unknown, Delivered, Coalesced, Woken, Lost, Duplicate, Reordered, Behind, Unjudged, Foreign, Gaps int64
	}
	Broken string
}

// wrong counts deliveries that were lost, incorrect, or could not be judged.
func (o outcome) wrong() int64 {
	c := o.Counts
	return c.Lost + c.Duplicate + c.Reordered + c.Behind + c.Unjudged + c.Gaps
}

// read reads the outcome from the manifest.
func read(manifest string) (o outcome, err error) {
	text, err := os.ReadFile(manifest)
	if err != nil {
		return o, err
	}
	var m struct {
		Databases []struct{ Watched outcome }
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return o, fmt.Errorf("read %s: %w", manifest, err)
	}
	if len(m.Databases) != 1 || len(m.Databases[0].Watched.Stages) == 0 {
		return o, fmt.Errorf("read %s: it must have one database with watchers", manifest)
	}
	o = m.Databases[0].Watched
	if o.Broken != "" {
		return o, fmt.Errorf("a connection broke: %s", o.Broken)
	}
	return o, nil
}

// watching is the number of watchers.
const watching = 10_000
