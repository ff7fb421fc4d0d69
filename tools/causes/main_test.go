package main

import (
	"strings"
	"testing"
)

// A report names what was planted, and what is unexplained.
func TestRead(t *testing.T) {
	const text = `{"marks": [{"code": "shared host", "text": "x"}], "headline": {"why": {"databases": [{"database": "etcd", "runs": 1, "verdict": "named",
 "causes": [{"name": "fsync", "verdict": "named"}, {"name": "peers", "verdict": "partly"}]}]}},
 "table": {"rows": [{"name": "LEDGER-UNEXPLAINED", "cells": [{"value": 12.5}]}]}}`
	r, err := read([]byte(text))
	if err != nil || strings.Join(r.named, " ") != "fsync" || strings.Join(r.partly, " ") != "peers" || r.unexplained != 12.5 {
		t.Errorf("got %+v, %v", r, err)
	}
	for _, wrong := range []string{
		strings.Replace(text, "shared host", "fault failed", 1), strings.Replace(text, `"why"`, `"else"`, 1), strings.Replace(text, "12.5", "null", 1), text[1:],
	} {
		if r, err := read([]byte(wrong)); err == nil {
			t.Errorf("read %+v of a report that does not say it", r)
		}
	}
}

// Results are right if they have the planted name, or none without one; other names are wrong.
func TestReport(t *testing.T) {
	fsync := &series{store: stores()[0], cause: planted()[2]}
	none := &series{store: stores()[0], cause: planted()[0]}
	for range 19 {
		fsync.results = append(fsync.results, result{named: []string{"fsync"}, unexplained: 10})
		none.results = append(none.results, result{unexplained: 80})
	}
	fsync.results = append(fsync.results, result{partly: []string{"fsync"}, unexplained: 12})
	var out strings.Builder
	report(&out, []*series{fsync, none})
	if err := judge([]*series{fsync, none}); err != nil {
		t.Errorf("19 of 20 are enough, got %v", err)
	}
	none.results = append(none.results, result{named: []string{"processors"}, partly: []string{"peers"}, unexplained: 80})
	report(&out, []*series{fsync, none})
	for _, want := range []string{
		"| etcd | fsync 10 ms longer, of all members | 19 of 20 | 75 to 100 % | 1 | 0 | - | 10 % |",
		"| etcd | nothing | 19 of 19 | 82 to 100 % | 0 | 19 | - | 80 % |",
		"| etcd | nothing | 19 of 20 | 75 to 100 % | 0 | 19 | processors 1, peers 1 | 80 % |",
		"\n0 of 39 runs have another name than the planted one, which allows for up to 9 %.\n", "\n1 of 40 runs have",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
	if err := judge([]*series{none}); err == nil || !strings.Contains(err.Error(), "other names: processors 1, peers 1") {
		t.Errorf("other names must be an error, got %v", err)
	}
	few := &series{store: stores()[0], cause: planted()[1], results: fsync.results, failed: []string{"x"}}
	if err := judge([]*series{few, {}}); err == nil || !strings.Contains(err.Error(), "0 of 20 right") || !strings.Contains(err.Error(), "no run") {
		t.Errorf("missed causes must be errors, got %v", err)
	}
}
