package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// records has the parts of a run manifest that are judged, and the run folder.
type records struct {
	dir       string
	Databases []database
}

// database counts the sessions and locks in a database.
type database struct {
	Tag      string
	Sessions sessions `json:"sessions_held"`
	Locks    locks    `json:"locks_held"`
	// Load counts the locks that load requests took.
	Load struct {
		Acquired, Released, Overlaps, Compared, Unsure, Parts int64
		Disorder                                              int64 `json:"fences_out_of_order"`
		ClockError                                            int64 `json:"clock_error_ns"`
	} `json:"load_locks"`
}

// spread describes durations, in nanoseconds.
type spread struct {
	N     int64
	Mean  int64 `json:"mean_ns"`
	P50   int64 `json:"p50_ns"`
	P99   int64 `json:"p99_ns"`
	Max   int64 `json:"max_ns"`
	least float64
}

// sessions has the counts and times for the held sessions.
type sessions struct {
	Granted    int64
	NotGranted int64 `json:"not_granted"`
	Abandoned  int64
	Death      time.Time
	Expired    int64
	NotExpired int64 `json:"not_expired"`
	Early      int64
	Unrenewed  int64
	Missed     int64
	Left       int64
	Delayed    int64
	Keeps      spread
	KeepsLost  int64 `json:"keeps_lost"`
	Late       spread
	Least      spread  `json:"late_least"`
	PerSecond  float64 `json:"per_second"`
	Machines   int64
	Survivors  []struct {
		After int64 `json:"after_ns"`
	}
}

// late returns the distribution of delays after the TTL, with the least from the first session that
// ended.
func (s *sessions) late() spread {
	is := s.Late
	if len(s.Survivors) > 0 {
		is.least = sec(s.Survivors[0].After)
	}
	return is
}

// locks has the counts and times in the competition, by stage.
type locks struct {
	Earliest int64 `json:"earliest_ns"`
	Latest   int64 `json:"latest_ns"`
	Stages   []struct {
		Acquired int64
		Refused  int64
		HandOff  spread `json:"hand_off"`
		Safety   struct {
			Overlaps, Believed, Lost int64
			Disorder                 int64 `json:"fences_out_of_order"`
		}
		FailOver struct {
			Dead, Early int64
			NotTaken    int64 `json:"not_taken"`
			Passed      spread
		} `json:"fail_over"`
	}
	Left int64
}

// read reads run records. Each database must have some sessions or locks.
func read(manifest string) (*records, error) {
	text, err := os.ReadFile(manifest)
	if err != nil {
		return nil, err
	}
	r := &records{dir: filepath.Dir(manifest)}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", manifest, err)
	}
	for _, d := range r.Databases {
		if d.Sessions.Granted == 0 && len(d.Locks.Stages) == 0 && d.Load.Acquired == 0 {
			return nil, fmt.Errorf("read %s: %s has neither sessions nor locks", manifest, d.Tag)
		}
	}
	if len(r.Databases) == 0 {
		return nil, fmt.Errorf("read %s: it has no databases", manifest)
	}
	return r, nil
}

// event is read from a line in events.jsonl.
type event struct {
	Time time.Time
	Kind string
}

// events reads the events up to a line that is not complete yet.
func events(text io.Reader) (all []event) {
	for lines := bufio.NewScanner(text); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			break
		}
		all = append(all, e)
	}
	return all
}

// errNone says that a run lacks an event.
var errNone = errors.New("the run has no such event")

// when returns the time of the first event of a kind in the only database.
func (r *records) when(kind string) (time.Time, error) {
	found, err := filepath.Glob(filepath.Join(r.dir, "*", "events.jsonl"))
	if err != nil {
		return time.Time{}, err
	}
	return first(found, kind)
}

// first returns when an event of this kind was recorded first, in the order of the files, or
// errNone.
func first(files []string, kind string) (time.Time, error) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return time.Time{}, err
		}
		list := events(f)
		f.Close()
		for _, e := range list {
			if e.Kind == kind {
				return e.Time, nil
			}
		}
	}
	return time.Time{}, errNone
}

// sec is nanoseconds in seconds.
func sec(ns int64) float64 { return float64(ns) / 1e9 }
