package main

import (
	"github.com/coreos/dbtester/analyze"
	"github.com/coreos/dbtester/pkg/config"
	"github.com/coreos/dbtester/pkg/results"
	"github.com/coreos/dbtester/pkg/workload"
)

// plotsOf returns the time plots of an experiment as analyze takes them.
func plotsOf(plots []config.Plot) []analyze.Plot {
	out := make([]analyze.Plot, len(plots))
	for i, p := range plots {
		out[i] = analyze.Plot(p)
	}
	return out
}

// classicOf returns the files that a classic experiment names, in the order of its
// databases. A database without input files is left out.
func classicOf(e *config.Experiment) *analyze.Classic {
	c := &analyze.Classic{
		Path: e.Path, Title: e.Title, Description: e.Description,
		Report: analyze.ClassicReport{TableCSV: e.Report.TableCSV, TableTXT: e.Report.TableTXT, PlotDir: e.Report.PlotDir, README: e.Report.README},
	}
	for _, image := range e.Report.Images {
		c.Report.Images = append(c.Report.Images, analyze.Image(image))
	}
	for _, d := range e.Databases {
		if in, known := e.Inputs[d.Tag]; known {
			c.Runs = append(c.Runs, analyze.ClassicRun{
				ClassicFiles: analyze.ClassicFiles{Record: classicRecord(d), Files: in.Files, Servers: in.Servers},
				Outputs:      in.Outputs,
			})
		}
	}
	return c
}

// classicRecord makes the record of a run without a manifest from its experiment file.
func classicRecord(d config.Database) *results.DatabaseRun {
	return &results.DatabaseRun{
		ID: d.ID, Database: d.Name, Tag: d.Tag, Description: d.Description, State: results.StateComplete, Leader: -1,
		Load: results.Load{
			Load: workload.Load{Operation: d.Load.Operation, Read: d.Load.Read, Requests: d.Load.Requests, Rate: d.Load.Rate,
				Clients: d.Load.Clients, Connections: d.Load.Connections,
				KeySize: d.Load.KeySize, ValueSize: d.Load.ValueSize, SameKey: d.Load.SameKey},
		},
	}
}
